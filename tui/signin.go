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

// signIn hands the terminal to the walkthrough of signing in, or to one step of it alone.
func (m *model) signIn(step string) tea.Cmd {
	w := &walkthrough{ctx: m.ctx, run: func() error { return m.login(m.ctx, step) }}
	return tea.Exec(w, func(err error) tea.Msg { return signedInMsg{err} })
}

// signedIn is the dashboard as it was, and the box asked anew. What went wrong has been read where it was told.
func (m *model) signedIn(msg signedInMsg) tea.Cmd {
	var exit *exec.ExitError
	switch {
	case errors.As(msg.err, &exit):
		m.note = fmt.Sprintf("signing in ended with status %d; w goes on with it", exit.ExitCode())
	case msg.err != nil:
		m.fail(&failure{err: msg.err, what: "sign in", at: m.now()})
	}
	return tea.Batch(m.pollNow(), tea.RequestWindowSize)
}

// walkthrough is signing in on the terminal that the dashboard has let go of.
type walkthrough struct {
	ctx context.Context
	run func() error
	in  io.Reader
	out io.Writer
}

// SetStdin is where a key is waited for; what is run knows its terminal.
func (w *walkthrough) SetStdin(r io.Reader) { w.in = r }

// SetStdout is where that is said.
func (w *walkthrough) SetStdout(out io.Writer) { w.out = out }

// SetStderr changes nothing.
func (w *walkthrough) SetStderr(io.Writer) {}

// Run is the walkthrough to its end.
func (w *walkthrough) Run() error {
	err := w.run()
	if err != nil && w.ctx.Err() == nil {
		untilRead(w.ctx, w.in, w.out, "this was not done")
	}
	return err
}

// whyNotSignIn is why nobody can be signed in now: the box itself is asked and worked in.
func whyNotSignIn(m *model) string {
	if m.login == nil {
		return "nothing here can do it"
	}
	return whyNotAttach(m)
}
