package limactl

import (
	"context"
	"errors"
	"io"
	"os/exec"
)

// TakeBack makes a terminal usable again that a session inside had until it was cut off: what draws on a whole screen,
// as tmux and editors do, has asked for more than ssh knows how to put back. Err is what the command of Attach, or Exec
// with a terminal, ended with; of a session that never began or ended by itself there is nothing to take back.
func TakeBack(terminal io.Writer, err error) {
	if cutOff(err) {
		_, _ = io.WriteString(terminal, plainTerminal) // if it fails there is no terminal any more
	}
}

func cutOff(err error) bool {
	var connection *TransportError
	if errors.As(err, &connection) {
		return connection.Started
	}
	var ssh *exec.ExitError
	if errors.As(err, &ssh) {
		return ssh.ExitCode() == Lost || ssh.ExitCode() < 0 // -1: by a signal
	}
	return errors.Is(err, context.Canceled)
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
