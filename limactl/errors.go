package limactl

import (
	"errors"
	"fmt"
	"strings"
)

// What callers branch on, with errors.Is.
var (
	ErrNotInstalled = errors.New("not installed")
	ErrNotFound     = errors.New("not found")
	ErrExists       = errors.New("already exists")
	ErrRoot         = errors.New("limactl refuses to run as root")
	ErrInUse        = errors.New("in use")
	ErrTimeout      = errors.New("timed out")
)

// Error is a failure with what to do about it.
type Error struct {
	Message string
	Do      string // the hint; may be empty
	Kind    string // one of the product's error codes; empty: external_failed
	Err     error  // cause; may be nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Recovery is the hint, empty if there is none.
func (e *Error) Recovery() string { return e.Do }

// Code is the product's error code.
func (e *Error) Code() string {
	if e.Kind == "" {
		return "external_failed"
	}
	return e.Kind
}

// CommandError is a limactl that ended with a status other than 0.
type CommandError struct {
	Args   []string // without the program
	Status int      // -1 if it was killed
	Stderr string   // its last lines
	Err    error
}

func (e *CommandError) Error() string {
	message := fmt.Sprintf("limactl %s: %v", strings.Join(e.Args, " "), e.Err)
	if last := lastLine(e.Stderr); last != "" {
		message += ": " + last
	}
	return message
}

// Unwrap gives the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// Details are facts for the JSON form of the error.
func (e *CommandError) Details() map[string]any {
	return map[string]any{"command": append([]string{"limactl"}, e.Args...), "status": e.Status, "stderr": e.Stderr}
}

// ExitError is a remote command that ended with a status other than 0; 128+n if a signal killed it.
type ExitError struct{ Status int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// TransportError is a connection that could not be made or did not last; the remote command's own status is not
// known. If Started is false the command never ran.
type TransportError struct {
	Instance string
	Started  bool
	Message  string // what ssh said, in its last lines
	Err      error
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

// Unwrap gives the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// Recovery is the hint.
func (e *TransportError) Recovery() string {
	if e.Started {
		return "see whether it runs: hermes-box status"
	}
	return "hermes-box status, then: hermes-box stop && hermes-box start"
}

// lastLine is the last line that is not blank, without logrus' decoration.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return logMessage(strings.TrimSpace(lines[len(lines)-1]))
}
