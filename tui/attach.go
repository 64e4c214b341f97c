package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/internal/terminal"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// attachBound is the most that it may take to find out that the box can be attached to.
const attachBound = 30 * time.Second

type (
	attachMsg struct {
		cmd    *exec.Cmd
		cancel context.CancelFunc
		err    error
	}
	detachMsg struct {
		err    error
		used   bool // the session was worked in, and left
		output string
	}
)

// attach hands the terminal to the box, once it is known that the box takes it.
func (m *model) attach() tea.Cmd {
	// The command outlives the question, so that one context serves both; only the question has a bound.
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

// errGivenUp says that the person has not waited for the box.
var errGivenUp = errors.New("given up")

func (m *model) attachNote() string { return "attaching to " + m.name() + "; esc gives up" }

func (m *model) attached(msg attachMsg) tea.Cmd {
	m.attaching, m.note = nil, ""
	switch {
	case errors.Is(msg.err, errGivenUp):
		return nil
	case msg.err != nil:
		msg.cancel()
		m.fail(&failure{err: msg.err, what: "attach", at: m.now()})
		return nil
	}
	h := &handover{Cmd: msg.cmd, ctx: m.ctx}
	return tea.Exec(h, func(err error) tea.Msg {
		msg.cancel()
		return detachMsg{err, h.used, h.said.String()}
	})
}

// detached is the dashboard as it was.
func (m *model) detached(msg detachMsg) tea.Cmd {
	var exit *exec.ExitError
	if err := msg.err; err != nil && !msg.used {
		if errors.As(err, &exit) {
			err = fault.New(fault.ExternalFailed, "the session ended with status %d", exit.ExitCode()).
				Hint("a attaches again; d finds out what is wrong")
		}
		m.fail(&failure{err: err, what: "attach", at: m.now(), output: widget.Clean(msg.output)})
	} else if errors.As(err, &exit) {
		m.note = fmt.Sprintf("the session ended with status %d", exit.ExitCode())
	}
	return tea.Batch(m.pollNow(), tea.RequestWindowSize)
}

// A session that somebody has worked in ends with the status of the last command there: nothing has failed. One that
// ends at once has, and so has one whose connection was lost.
const atOnce = 3 * time.Second

// handover runs a command on the terminal that the dashboard has let go of. What it says last stays on the screen when it
// fails, until a key is pressed: the dashboard would draw over it.
type handover struct {
	*exec.Cmd
	ctx  context.Context
	said tail
	used bool // it was worked in, and left
	in   io.Reader
	out  io.Writer
}

// SetStdin gives the command the terminal.
func (h *handover) SetStdin(r io.Reader) { h.Stdin, h.in = r, r }

// SetStdout gives the command the terminal.
func (h *handover) SetStdout(w io.Writer) { h.Stdout, h.out = w, w }

// SetStderr lets the command complain on the terminal; the end of it is kept.
func (h *handover) SetStderr(w io.Writer) { h.Stderr = io.MultiWriter(w, &h.said) }

// Run is the command to its end.
func (h *handover) Run() error {
	begun := time.Now()
	err := terminal.RunOnTerminal(h.Cmd)
	var exit *exec.ExitError
	h.used = errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() != ssh.Lost && time.Since(begun) > atOnce
	if err == nil || h.used || h.ctx.Err() != nil {
		return err
	}
	what := "the session has failed"
	if said := widget.Clean(h.said.String()); said != "" { // perhaps on a screen that the session has taken with it
		what += ": " + said[strings.LastIndex(said, "\n")+1:]
	}
	untilRead(h.ctx, h.in, h.out, what)
	return err
}

// untilRead leaves what is on the terminal there until a key is pressed.
func untilRead(ctx context.Context, in io.Reader, out io.Writer, what string) {
	fmt.Fprintf(out, "\r\nhermes-box: %s\r\nenter goes back to the dashboard ", what)
	pressed := make(chan struct{})
	go func() {
		_, _ = in.Read(make([]byte, 1024))
		close(pressed)
	}()
	select {
	case <-pressed:
	case <-ctx.Done():
	}
}

// tail keeps the last of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if extra := len(t.text) - 4096; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.text)) }

// whyNotAttach says what keeps one from working in the box, and what to do about it.
func whyNotAttach(m *model) string {
	switch st := m.status(); {
	case m.attaching != nil:
		return "it is under way"
	case m.running():
		return m.op.verb.id + " is under way"
	case !m.known.Exists:
		return "there is no box"
	case st.State == "stopped":
		return "the box is stopped: s starts it"
	case st.State == "starting":
		return "the box is booting: in a moment"
	case st.State == "absent":
		return "its VM is gone: d shows what is left"
	}
	return ""
}

// copy puts a text on the clipboard of the terminal, by OSC 52, and shows it too: not every terminal takes it.
func (m *model) copy(text string) tea.Cmd {
	m.note = "copied (if the terminal allows): " + text
	return tea.SetClipboard(text)
}
