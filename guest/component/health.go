package component

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

const (
	healthTime = 5 * time.Minute // for a service to become healthy: emulated CPUs are slow
	// MaxRestarts is the number of restarts by systemd after which waiting for a service is useless.
	MaxRestarts = 3
)

// WaitHealthy waits until a component is healthy or needs its setup. It fails when the component can no longer become
// healthy, or after healthTime. If a service is not healthy, the error has the last lines of its log.
func WaitHealthy(ctx context.Context, env Env, c Component) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTime, fmt.Errorf("not healthy after %v", healthTime))
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		unit, err := UnitOf(ctx, env, c)
		if err != nil {
			return err
		}
		state, detail := c.Health(ctx, env, unit)
		if state == protocol.Healthy || state == protocol.SetupRequired {
			return nil
		}
		// The start job has ended and the service does not run, for example because a condition of the unit is false or
		// somebody stopped the service.
		idle := unit.Active == "inactive" && !unit.Queued
		if idle && detail == "" {
			detail = "its service does not run, and systemd has no job to start it"
		}
		if c.Unit() == "" || GivenUp(unit) || idle {
			return unhealthy(env, c, state, detail)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return unhealthy(env, c, state, detail+"; "+cause.Error())
			}
			return ctx.Err()
		}
	}
}

func unhealthy(env Env, c Component, state, detail string) error {
	e := &protocol.Error{Code: "health_failed", Message: state + ", " + detail}
	if c.Unit() != "" {
		e.Hint = "look at its log: hermes-box logs " + c.Name()
		e.Output = env.Machine.UnitLog(context.Background(), c.Unit())
	}
	return e
}

// GivenUp reports whether waiting for a service is useless: systemd has given up on it, or has restarted it
// MaxRestarts times.
func GivenUp(unit machine.Unit) bool {
	return unit.Active == "failed" || unit.Restart >= MaxRestarts
}

// UnitOf returns the state of a component's service.
func UnitOf(ctx context.Context, env Env, c Component) (machine.Unit, error) {
	if c.Unit() == "" {
		return machine.Unit{}, nil
	}
	units, err := env.Machine.Units(ctx, c.Unit())
	return units[c.Unit()], err
}

// runnable returns healthy if the current release of a component has the program; otherwise failed, with the reason.
func runnable(env Env, c Component, program string) (state, detail string) {
	if !IsProgram(env.Path(layout.CurrentOf(c.Name())), program) {
		return protocol.FailedState, layout.CurrentOf(c.Name()) + "/" + program + " cannot be run"
	}
	return protocol.Healthy, ""
}

// serviceState returns the state of a component whose service does not run.
func serviceState(unit machine.Unit) (state, detail string) {
	switch {
	case unit.Active == "failed":
		return protocol.FailedState, "its service failed: " + unit.Result
	case unit.Active == "activating" && unit.Sub != "auto-restart" && unit.Restart < MaxRestarts:
		return protocol.Starting, "its service is " + unit.Sub
	case unit.Active == "inactive" && unit.Queued:
		return protocol.Starting, "its service is queued to start"
	case unit.Active == "activating" || unit.Restart > 0:
		return protocol.FailedState, "its service is " + unit.Active + ", " + unit.Sub
	}
	return protocol.Stopped, ""
}
