package limactl

import (
	"errors"
	"io"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// Lend runs a command on the terminal that is its Stdin, and takes the terminal back as it was, however the command has
// ended: one that is killed puts nothing back, and a session whose connection is lost leaves on what tmux had asked for.
// On Linux the command is hung up on when we are killed; elsewhere it then goes on until it reads.
func Lend(cmd *exec.Cmd) error {
	takeBack := lent(cmd, cmd.Stdout)
	err := cmd.Run()
	var exit *exec.ExitError
	takeBack(errors.As(err, &exit) && (exit.ExitCode() < 0 || exit.ExitCode() == Lost))
	return err
}

// lent is called before a command starts that has our terminal: it notes how the terminal is, and gives the function that
// makes it so again on out; torn is whether the command was cut off. There is nothing to do where Stdin is no terminal.
func lent(cmd *exec.Cmd, out io.Writer) (takeBack func(torn bool)) {
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
	return func(torn bool) {
		_ = term.Restore(fd, before)
		if torn {
			_, _ = io.WriteString(out, plainTerminal)
		}
	}
}

// Lost is the status of an ssh whose connection could not be made or did not last.
const Lost = 255

// plainTerminal puts a terminal into the state that shells expect. Where nothing was asked of it, it changes nothing
// and the cursor stays: setting the region and leaving the other screen would move it.
const plainTerminal = "\x1b[m\x1b(B\x0f" + // colours, line drawing
	"\x1b7\x1b[r\x1b8" + // the region that scrolls
	"\x1b[?1049l" + // the other screen; to the cursor that was kept
	"\x1b[?1l\x1b>" + // keys of the cursor and of the keypad
	"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l" + // mouse
	"\x1b[?1004l\x1b[?2004l" + // focus, pasting
	"\x1b[>4m\x1b[<1u" + // two ways to ask for more keys
	"\x1b[?25h\x1b[0 q" // the cursor: there, and of the person's own shape
