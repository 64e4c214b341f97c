package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"hermes-box/internal/terminal"
	"hermes-box/limactl/ssh"
	"hermes-box/tui/widget"
)

// atOnce is the longest duration of a session that counts as failed if it ends with an error. The status of a longer
// session is that of its last command, so a longer session counts as failed only if its connection was lost.
const atOnce = 3 * time.Second

// handover runs a command on the terminal after the dashboard has released it. If the command fails, its last output
// stays on the screen until enter is pressed, since the dashboard would draw over it.
type handover struct {
	*exec.Cmd
	ctx    context.Context
	stderr tail
	used   bool // the error is the status of the last command in the session: the session itself did not fail
	in     io.Reader
	out    io.Writer
}

// SetStdin gives the command the terminal.
func (h *handover) SetStdin(r io.Reader) { h.Stdin, h.in = r, r }

// SetStdout gives the command the terminal.
func (h *handover) SetStdout(w io.Writer) { h.Stdout, h.out = w, w }

// SetStderr shows what the command writes to stderr, and keeps the end of it.
func (h *handover) SetStderr(w io.Writer) { h.Stderr = io.MultiWriter(w, &h.stderr) }

// Run runs the command.
func (h *handover) Run() error {
	begun := time.Now()
	err := terminal.RunOnTerminal(h.Cmd)
	var exit *exec.ExitError
	h.used = errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() != ssh.Lost && time.Since(begun) > atOnce
	if err == nil || h.used || h.ctx.Err() != nil {
		return err
	}
	what := "the session failed"
	if last := widget.Clean(h.stderr.String()); last != "" { // show it again: the session may have cleared the screen
		what += ": " + last[strings.LastIndex(last, "\n")+1:]
	}
	waitForEnter(h.ctx, h.in, h.out, what)
	return err
}

// waitForEnter keeps the output on the terminal until enter is pressed.
func waitForEnter(ctx context.Context, in io.Reader, out io.Writer, what string) {
	fmt.Fprintf(out, "\r\nhermes-box: %s\r\npress enter to go back to the dashboard ", what)
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

// tail keeps the last bytes written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if extra := len(t.text) - 4096; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.text)) }
