// Package fault is the error a person reads: what is wrong, in lower case and naming the thing, and what can
// be typed now. Any error may carry the same two things by having Code and Hint methods of its own; packages
// that must not import this one (limactl) do that.
package fault

import (
	"errors"
	"fmt"
)

// Code says what kind of failure it was; scripts branch on it.
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

// Error is a failure with a code and a hint.
type Error struct {
	code    Code
	message string
	hint    string
	err     error
	details map[string]any
}

// New makes an error of a printf format; %w wraps as in fmt.Errorf.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{code: code, message: err.Error(), err: errors.Unwrap(err)}
}

// Hint says what to do now, best as something that can be typed.
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

// Unwrap gives the cause, if there is one.
func (e *Error) Unwrap() error { return e.err }

// Code tells the kind.
func (e *Error) Code() string { return string(e.code) }

// Recovery is the hint, empty if there is none.
func (e *Error) Recovery() string { return e.hint }

// Details are facts for the JSON form; may be nil.
func (e *Error) Details() map[string]any { return e.details }

// CodeOf finds the code of err or of what it wraps; external_failed where none says.
func CodeOf(err error) Code {
	var c interface{ Code() string }
	if errors.As(err, &c) && c.Code() != "" {
		return Code(c.Code())
	}
	return ExternalFailed
}

// HintOf finds the first hint of err and of what it wraps: an error on the way that has none hides nothing.
func HintOf(err error) (hint string) {
	walk(err, func(err error) bool {
		if h, ok := err.(interface{ Recovery() string }); ok {
			hint = h.Recovery()
		}
		return hint != ""
	})
	return hint
}

// walk visits err and all it wraps, outermost first, until visit says that it has found what it wants.
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

// DetailsOf finds the first details of err and of what it wraps.
func DetailsOf(err error) (details map[string]any) {
	walk(err, func(err error) bool {
		if d, ok := err.(interface{ Details() map[string]any }); ok {
			details = d.Details()
		}
		return len(details) > 0
	})
	return details
}
