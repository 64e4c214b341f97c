// Package fault has the errors that people read: a code, a message in lower case that names the thing, and a hint that
// can be typed. An error of another package can have a code and a hint too, if it has the methods Code and Recovery.
// Package limactl, which must not import this one, has such errors.
package fault

import (
	"errors"
	"fmt"
)

// Code is the kind of a failure, for scripts.
type Code string

// The codes of the JSON contract.
const (
	InvalidInput    Code = "invalid_input"
	NotFound        Code = "not_found"
	AlreadyExists   Code = "already_exists"
	Busy            Code = "busy"
	PreflightFailed Code = "preflight_failed"
	IntegrityFailed Code = "integrity_failed"
	HealthFailed    Code = "health_failed"
	ExternalFailed  Code = "external_failed"
	Interrupted     Code = "interrupted"
)

// Error is an error with a code and a hint.
type Error struct {
	code    Code
	message string
	hint    string
	err     error
	details map[string]any
}

// New returns an error with a formatted message; %w wraps as in fmt.Errorf.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{code: code, message: err.Error(), err: errors.Unwrap(err)}
}

// Hint sets what to do now, if possible as a command. Write commands of this program without flags that choose the
// box, as "hermes-box start": the code that prints them adds the flags.
func (e *Error) Hint(format string, args ...any) *Error {
	e.hint = fmt.Sprintf(format, args...)
	return e
}

// Detail adds a fact for the JSON form.
func (e *Error) Detail(key string, value any) *Error {
	if e.details == nil {
		e.details = map[string]any{}
	}
	e.details[key] = value
	return e
}

func (e *Error) Error() string { return e.message }

// Unwrap returns the cause, if there is one.
func (e *Error) Unwrap() error { return e.err }

// Code returns the kind.
func (e *Error) Code() string { return string(e.code) }

// Recovery returns the hint, empty if there is none.
func (e *Error) Recovery() string { return e.hint }

// Details returns the facts for the JSON form; may be nil.
func (e *Error) Details() map[string]any { return e.details }

// CodeOf returns the code of err or of the errors it wraps; external_failed if none has one.
func CodeOf(err error) Code {
	var c interface{ Code() string }
	if errors.As(err, &c) && c.Code() != "" {
		return Code(c.Code())
	}
	return ExternalFailed
}

// HintOf returns the first hint of err and of the errors it wraps, outermost first.
func HintOf(err error) (hint string) {
	walk(err, func(err error) bool {
		if h, ok := err.(interface{ Recovery() string }); ok {
			hint = h.Recovery()
		}
		return hint != ""
	})
	return hint
}

// walk visits err and the errors it wraps, outermost first, until visit returns true.
func walk(err error, visit func(error) bool) bool {
	if err == nil {
		return false
	}
	if visit(err) {
		return true
	}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		return walk(w.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, err := range w.Unwrap() {
			if walk(err, visit) {
				return true
			}
		}
	}
	return false
}

// DetailsOf returns the first details of err and of the errors it wraps.
func DetailsOf(err error) (details map[string]any) {
	walk(err, func(err error) bool {
		if d, ok := err.(interface{ Details() map[string]any }); ok {
			details = d.Details()
		}
		return len(details) > 0
	})
	return details
}
