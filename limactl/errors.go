package limactl

import (
	"errors"
	"fmt"
	"hermes-box/internal/sanitize"
	"strings"
)

// Causes to test for with errors.Is.
var (
	ErrNotInstalled = errors.New("not installed")
	ErrNotFound     = errors.New("not found")
	ErrExists       = errors.New("already exists")
	ErrInUse        = errors.New("in use")
	ErrTimeout      = errors.New("timed out")
)

// Error is a failure, with a hint if there is one.
type Error struct {
	Message string
	Do      string // the hint; may be empty
	Kind    string // one of the product's error codes; empty: external_failed
	Err     error  // cause; may be nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Recovery returns the hint, empty if there is none.
func (e *Error) Recovery() string { return e.Do }

// Code returns the product's error code.
func (e *Error) Code() string {
	if e.Kind == "" {
		return "external_failed"
	}
	return e.Kind
}

// CommandError is the error for a run of limactl that did not end with status 0: limactl failed, could not be started,
// or was killed, for example because it did not exit in time.
type CommandError struct {
	Args    []string // without the program
	Status  int      // exit status; -1 if it was not started or was killed
	Message string   // the reason that limactl gave; may be empty
	Stderr  string   // its last lines
	Err     error
	hint    string
}

func (e *CommandError) Error() string {
	message := fmt.Sprintf("limactl %s: %v", strings.Join(e.Args, " "), e.Err)
	if e.Message != "" {
		message += ": " + e.Message
	}
	return message
}

// Recovery returns the hint: the command to try by hand if limactl did not answer.
func (e *CommandError) Recovery() string { return e.hint }

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// Details returns facts for the JSON form of the error.
func (e *CommandError) Details() map[string]any {
	return map[string]any{"command": append([]string{"limactl"}, e.Args...), "status": e.Status, "stderr": e.Stderr}
}

// complaint returns the line of limactl's stderr that says why it failed: the first line of a panic or, without a
// panic, the last line.
func complaint(stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(sanitize.Text(line))
		}
	}
	return lastLine(stderr)
}

// lastLine returns the message of the last line that is not blank, without the other fields of logrus.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return logMessage(strings.TrimSpace(lines[len(lines)-1]))
}
