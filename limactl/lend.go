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
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	hangUpWithUs(cmd.SysProcAttr)
	takeBack := lent(cmd.Stdin, cmd.Stdout)
	err := cmd.Run()
	var exit *exec.ExitError
	takeBack(errors.As(err, &exit) && (exit.ExitCode() < 0 || exit.ExitCode() == 255))
	return err
}

// lent notes how a terminal is, and gives the function that makes it so again; torn is whether what had it was cut off.
// There is nothing to do where in is no terminal.
func lent(in io.Reader, out io.Writer) (takeBack func(torn bool)) {
	f, ok := in.(interface{ Fd() uintptr })
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
			_, _ = io.WriteString(out, modesOff)
		}
	}
}

// modesOff takes back what a program on the whole screen asks a terminal for. The cursor is saved first, so that where
// there was no other screen it stays in its place.
const modesOff = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l" + // mouse
	"\x1b[?1004l\x1b[?2004l" + // focus, pastes
	"\x1b[<u\x1b[>4m\x1b[?1l\x1b>" + // keys
	"\x1b7\x1b[?1049l\x1b[?25h\x1b[0m" // screen, cursor, colours
