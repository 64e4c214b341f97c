package component

import (
	"context"
	"errors"
	"fmt"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// Failure gives an error the component and the phase in which it happened, a code if it has none, and the output of the
// program that failed.
func Failure(err error, component, phase string) *protocol.Error {
	e := &protocol.Error{Code: "external_failed", Message: fmt.Sprintf("%s: %s: %v", component, phase, err)}
	var known *protocol.Error
	switch {
	case errors.Is(err, context.Canceled):
		e.Code = "interrupted"
	case errors.As(err, &known):
		e.Code, e.Hint, e.Output = known.Code, known.Hint, known.Output
	case phase == protocol.PhaseSmoke || phase == protocol.PhaseHealth:
		e.Code = "health_failed"
	}
	if e.Output == "" {
		e.Output = OutputOf(err)
	}
	e.Component, e.Phase = component, phase
	return e
}

// OutputOf returns the last lines printed by the program whose failure is in err.
func OutputOf(err error) string {
	var exit *machine.ExitError
	if errors.As(err, &exit) {
		return exit.Output
	}
	return ""
}
