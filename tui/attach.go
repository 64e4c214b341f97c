package tui

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// attachBound is the timeout for preparing a session.
const attachBound = 30 * time.Second

type (
	attachMsg struct {
		cmd    *exec.Cmd
		cancel context.CancelFunc
		err    error
	}
	detachMsg struct {
		err    error
		used   bool // see handover
		output string
	}
)

// attach asks the box for the command of a session. attached then runs the command on the terminal.
func (m *model) attach() tea.Cmd {
	// One context serves both the request to the box and the command, which runs longer. Only the request has a
	// timeout.
	ctx, cancel := context.WithCancelCause(m.ctx)
	m.attaching = func() { cancel(errGivenUp) }
	m.note = m.attachNote()
	return m.tasks.do(func() tea.Msg {
		late := time.AfterFunc(attachBound, func() { cancel(fmt.Errorf("no answer from the box in %v", attachBound)) })
		cmd, err := m.box.Attach(ctx)
		late.Stop()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return attachMsg{cmd, func() { cancel(nil) }, err}
	})
}

// errGivenUp is the cause with which esc cancels an attach.
var errGivenUp = errors.New("given up")

func (m *model) attachNote() string { return "attaching to " + m.name() + "; esc gives up" }

func (m *model) attached(msg attachMsg) tea.Cmd {
	m.attaching, m.note = nil, ""
	switch {
	case errors.Is(msg.err, errGivenUp):
		return nil
	case msg.err != nil:
		msg.cancel()
		m.fail(&failure{err: msg.err, what: "attach"})
		return nil
	}
	h := &handover{Cmd: msg.cmd, ctx: m.ctx}
	return tea.Exec(h, func(err error) tea.Msg {
		msg.cancel()
		return detachMsg{err, h.used, h.stderr.String()}
	})
}

// detached handles the end of a session: it asks the box for its state, and shows the error of a session that failed.
func (m *model) detached(msg detachMsg) tea.Cmd {
	var exit *exec.ExitError
	if err := msg.err; err != nil && !msg.used {
		if errors.As(err, &exit) {
			err = fault.New(fault.ExternalFailed, "the session ended with status %d", exit.ExitCode()).
				Hint("press a to attach again, d to find out what is wrong")
		}
		m.fail(&failure{err: err, what: "attach", output: widget.Clean(msg.output)})
	} else if errors.As(err, &exit) {
		m.note = fmt.Sprintf("the session ended with status %d", exit.ExitCode())
	}
	return m.pollNow()
}

// whyNotAttach returns why attach is refused now, and what to do about it; empty if it is not.
func whyNotAttach(m *model) string {
	switch {
	case m.attaching != nil:
		return "it is under way"
	case m.own != nil:
		return m.own.verb.name + " is under way"
	}
	return m.whyOff()
}

// copy copies a text to the clipboard of the terminal, by OSC 52. It also shows the text, since not every terminal
// allows that.
func (m *model) copy(text string) tea.Cmd {
	m.note = "copied (if the terminal allows): " + text
	return tea.SetClipboard(text)
}
