package component

import (
	"context"
	"errors"
	"fmt"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// Failure returns a protocol.Error for err, with the component and the phase in which it happened, and OutputOf(err).
// The code is "interrupted" if err comes from a canceled context. Otherwise it is the code of err or, if err has none,
// a code for the phase.
func Failure(err error, component, phase string) *protocol.Error {
	e := &protocol.Error{Code: "external_failed", Message: fmt.Sprintf("%s: %s: %v", component, phase, err)}
	var known *protocol.Error
	switch {
	case errors.Is(err, context.Canceled):
		e.Code = "interrupted"
	case errors.As(err, &known):
		e.Code, e.Hint = known.Code, known.Hint
	case phase == protocol.PhaseSmoke || phase == protocol.PhaseHealth:
		e.Code = "health_failed"
	}
	e.Component, e.Phase, e.Output = component, phase, OutputOf(err)
	return e
}

// OutputOf returns the last lines printed by the program or service whose failure is in err; empty if err has none.
func OutputOf(err error) string {
	var known *protocol.Error
	var exit *machine.ExitError
	switch {
	case errors.As(err, &known) && known.Output != "":
		return known.Output
	case errors.As(err, &exit):
		return exit.Output
	}
	return ""
}
