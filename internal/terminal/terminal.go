// Package terminal runs a program on the terminal of this process and restores the terminal afterwards.
package terminal

import (
	"errors"
	"io"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// RunOnTerminal runs a command whose Stdin is the terminal, and restores the terminal however the command ends. A
// killed program does not restore it, and neither does a session in tmux whose connection is lost. On Linux the
// command gets SIGHUP when this process is killed; on other systems it runs until it reads from the terminal.
func RunOnTerminal(cmd *exec.Cmd) error {
	restore := Prepare(cmd, cmd.Stdout)
	err := cmd.Run()
	var exit *exec.ExitError
	restore(errors.As(err, &exit) && (exit.ExitCode() < 0 || exit.ExitCode() == sshFailed))
	return err
}

// sshFailed is the status of an ssh that could not connect or lost its connection.
const sshFailed = 255

// Prepare prepares a command whose Stdin is the terminal; call it before the command starts. It saves the terminal's
// modes and returns a function that restores them. With aborted set, the function also writes sequences to out that
// reset everything a full-screen program may have switched on. If Stdin is not a terminal, the function does nothing.
func Prepare(cmd *exec.Cmd, out io.Writer) (restore func(aborted bool)) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	hangUpWithUs(cmd.SysProcAttr)
	f, ok := cmd.Stdin.(interface{ Fd() uintptr })
	if !ok || out == nil {
		return func(bool) {}
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return func(bool) {}
	}
	return func(aborted bool) {
		_ = term.Restore(fd, before)
		if aborted {
			_, _ = io.WriteString(out, reset)
		}
	}
}

// reset is the text that returns a terminal to the state that shells expect. It has no effect on a terminal that is in
// that state: it saves and restores the cursor, which moves when the scroll region is set or the alternate screen is
// left.
const reset = "\x1b[m\x1b(B\x0f" + // colours, line drawing
	"\x1b7\x1b[r\x1b8" + // scroll region
	"\x1b[?1049l" + // alternate screen; restores the saved cursor
	"\x1b[?1l\x1b>" + // cursor keys and keypad
	"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l" + // mouse
	"\x1b[?1004l\x1b[?2004l" + // focus events, bracketed paste
	"\x1b[>4m\x1b[<1u" + // the two extended key protocols
	"\x1b[?25h\x1b[0 q" // cursor: visible, in the user's own shape
