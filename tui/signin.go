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

// signedIn redraws the dashboard and asks the box. The sign-in has shown its errors itself.
func (m *model) signedIn(msg signedInMsg) tea.Cmd {
	var exit *exec.ExitError
	switch {
	case errors.As(msg.err, &exit):
		m.note = fmt.Sprintf("signing in ended with status %d; w continues", exit.ExitCode())
	case msg.err != nil:
		m.fail(&failure{err: msg.err, what: "sign in"})
	}
	return tea.Batch(m.pollNow(), tea.RequestWindowSize)
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

// SetStderr is not needed.
func (w *walkthrough) SetStderr(io.Writer) {}

// Run runs the sign-in; an error stays on the screen until a key is pressed.
func (w *walkthrough) Run() error {
	err := w.run()
	if err != nil && w.ctx.Err() == nil {
		untilRead(w.ctx, w.in, w.out, "this step is not done")
	}
	return err
}

// whyNotSignIn returns why the sign-in is refused now. It needs what attach needs.
func whyNotSignIn(m *model) string {
	if m.signer == nil {
		return "it is not available here"
	}
	return whyNotAttach(m)
}
