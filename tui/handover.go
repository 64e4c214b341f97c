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

// A session that somebody has worked in ends with the status of the last command there, which is no failure. One that
// ends within atOnce has failed, and so has one whose connection was lost.
const atOnce = 3 * time.Second

// handover runs a command on the terminal that the dashboard has handed over. If the command fails, its last words stay
// on the screen until a key is pressed: the dashboard would draw over them.
type handover struct {
	*exec.Cmd
	ctx    context.Context
	stderr tail
	used   bool // somebody worked in it and left it
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
	if last := widget.Clean(h.stderr.String()); last != "" { // it may be on a screen that the session has cleared
		what += ": " + last[strings.LastIndex(last, "\n")+1:]
	}
	untilRead(h.ctx, h.in, h.out, what)
	return err
}

// untilRead keeps what is on the terminal until a key is pressed.
func untilRead(ctx context.Context, in io.Reader, out io.Writer, what string) {
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
