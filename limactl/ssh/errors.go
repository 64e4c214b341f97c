package ssh

import (
	"errors"
	"fmt"
	"strings"
)

// Lost is the exit status of an ssh that could not connect or lost its connection.
const Lost = 255

// errTimeout is the cause if a limit was exceeded.
var errTimeout = errors.New("timed out")

// Error is the error for a call that cannot be made, with a hint if there is one.
type Error struct {
	message string
	hint    string
	code    string
	err     error
}

func (e *Error) Error() string { return e.message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Recovery returns the hint, empty if there is none.
func (e *Error) Recovery() string { return e.hint }

// Code returns the product's error code.
func (e *Error) Code() string { return e.code }

// ExitError is the error for a remote command that ended with a status other than 0. The status is 128+n if signal n
// killed the command.
type ExitError struct{ Status int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// TransportError is the error for a connection that failed or was lost. The status of the remote command is unknown;
// if Started is false, the command never ran.
type TransportError struct {
	Instance string
	Started  bool
	Message  string // the reason, such as the last lines that ssh printed; may be empty
	Err      error
	status   int // of ssh
}

func (e *TransportError) Error() string {
	what := "no connection to " + e.Instance
	if e.Started {
		what = "connection to " + e.Instance + " lost"
	}
	if last := lastLine(e.Message); last != "" {
		return what + ": " + last
	}
	if e.Err != nil {
		return what + ": " + e.Err.Error()
	}
	return what
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// Recovery returns the hint.
func (e *TransportError) Recovery() string {
	if e.Started {
		return "hermes-box status"
	}
	return "hermes-box status; if it stays so: hermes-box stop --force; hermes-box start" // not hermes-box restart: it works only while the box answers
}

// lastLine returns the last line that is not blank.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
