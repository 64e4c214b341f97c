package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	tea "charm.land/bubbletea/v2"
)

type signedInMsg struct{ err error }

// signIn runs the sign-in, or one step of it, on the terminal.
func (m *model) signIn(step string) tea.Cmd {
	w := &walkthrough{ctx: m.ctx, run: func() error { return m.signer(m.ctx, step) }}
	return tea.Exec(w, func(err error) tea.Msg { return signedInMsg{err} })
}

// signedIn asks the box for its state, and shows an error that the sign-in has not shown itself. It does not ask for
// the size of the window: Bubble Tea does so when it takes the terminal back, and a second request at that time would
// be a data race in Bubble Tea.
func (m *model) signedIn(msg signedInMsg) tea.Cmd {
	var exit *exec.ExitError
	switch {
	case errors.As(msg.err, &exit):
		m.note = fmt.Sprintf("signing in ended with status %d; w continues", exit.ExitCode())
	case msg.err != nil:
		m.fail(&failure{err: msg.err, what: "sign in"})
	}
	return m.pollNow()
}

// walkthrough runs the sign-in on the terminal that the dashboard has handed over.
type walkthrough struct {
	ctx context.Context
	run func() error
	in  io.Reader
	out io.Writer
}

// SetStdin sets where Run reads the key after an error. The sign-in itself uses the terminal.
func (w *walkthrough) SetStdin(r io.Reader) { w.in = r }

// SetStdout sets where Run asks for the key.
func (w *walkthrough) SetStdout(out io.Writer) { w.out = out }

// SetStderr does nothing.
func (w *walkthrough) SetStderr(io.Writer) {}

// Run runs the sign-in. An error stays on the screen until enter is pressed.
func (w *walkthrough) Run() error {
	err := w.run()
	if err != nil && w.ctx.Err() == nil {
		waitForEnter(w.ctx, w.in, w.out, "this step is not done")
	}
	return err
}

// whyNotSignIn returns why the sign-in is refused now. It has the same requirements as attach.
func whyNotSignIn(m *model) string {
	if m.signer == nil {
		return "it is not available here"
	}
	return whyNotAttach(m)
}
