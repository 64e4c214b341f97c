package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

const (
	healthTime = 5 * time.Minute // for a service to become healthy: emulated CPUs are slow
	maxCrashes = 3               // restarts by systemd after which waiting longer is no use
	risingTime = 3 * time.Minute // after which a service that runs and does not work is not just slow to begin
	logTime    = 20 * time.Second
)

// wait looks until the component is healthy, or cannot become so any more.
func (ch *change) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTime, fmt.Errorf("not healthy after %v", healthTime))
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		unit, err := ch.g.unitOf(ctx, ch.c)
		if err != nil {
			return err
		}
		state, detail := ch.c.health(ctx, ch.g, unit)
		if state == protocol.Healthy || state == protocol.SetupRequired {
			return nil
		}
		// A start that is done and has started nothing: a condition of the unit is false, or somebody stopped it.
		idle := unit.Active == "inactive" && !unit.Queued
		if idle && detail == "" {
			detail = "its service does not run, and nothing is about to start it"
		}
		if ch.c.unit() == "" || unit.Active == "failed" || unit.Restart >= maxCrashes || idle {
			return ch.unhealthy(state, detail)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return ch.unhealthy(state, detail+"; "+cause.Error())
			}
			return ctx.Err()
		}
	}
}

func (ch *change) unhealthy(state, detail string) error {
	e := &protocol.Error{Code: "health_failed", Message: state + ", " + detail}
	if ch.c.unit() != "" {
		e.Hint = "look at its log: hermes-box logs " + ch.c.name()
		ctx, cancel := context.WithTimeout(context.Background(), logTime)
		defer cancel()
		out, err := ch.g.Machine.Run(ctx, machine.Cmd{Path: "journalctl", Args: []string{"--unit=" + ch.c.unit(), "--lines=15", "--output=cat", "--no-pager"}})
		if err == nil { // without it the error says enough
			e.Output = string(out)
		}
	}
	return e
}

func (g *Guest) unitOf(ctx context.Context, c component) (machine.Unit, error) {
	if c.unit() == "" {
		return machine.Unit{}, nil
	}
	units, err := g.Machine.Units(ctx, c.unit())
	return units[c.unit()], err
}

// componentHealth tells the state of all six, in order. units is what Machine.Units says of hermesUnit and
// executorUnit; one that is missing counts as inactive. Components that were never applied are stopped.
func (g *Guest) componentHealth(ctx context.Context, units map[string]machine.Unit) ([]protocol.ComponentStatus, error) {
	applied, err := g.AppliedState()
	if err != nil {
		return nil, err
	}
	all := make([]protocol.ComponentStatus, 0, len(components()))
	for _, c := range components() {
		entry, ok := applied[c.name()]
		s := protocol.ComponentStatus{Name: c.name(), Applied: entry.Version, Previous: entry.Previous}
		unit := units[c.unit()]
		if c.unit() != "" {
			s.Service = unit.Active
			if s.Service == "" {
				s.Service = "inactive"
			}
			if !unit.Since.IsZero() {
				s.Since = int64(g.now().Sub(unit.Since).Seconds())
			}
		}
		if ok {
			s.State, s.Detail = c.health(ctx, g, unit)
			if s.State == protocol.FailedState && g.rising(unit) {
				s.State = protocol.Starting
			}
		} else {
			s.State, s.Detail = protocol.Stopped, "not installed"
		}
		all = append(all, s)
	}
	return all, nil
}

// rising tells whether a service that runs has not had the time yet to work. One that keeps ending is not rising.
func (g *Guest) rising(unit machine.Unit) bool {
	return unit.Active == "active" && unit.Restart < maxCrashes && g.now().Sub(unit.Since) < risingTime
}

// phaseError gives a failure the component and phase it happened in, and a code if it has none.
func phaseError(err error, component, phase string) *protocol.Error {
	e := &protocol.Error{Code: "external_failed", Message: fmt.Sprintf("%s: %s: %v", component, phase, err)}
	var known *protocol.Error
	var exit *machine.ExitError
	switch {
	case errors.Is(err, context.Canceled):
		e.Code = "interrupted"
	case errors.As(err, &known):
		e.Code, e.Hint, e.Output = known.Code, known.Hint, known.Output
	case phase == protocol.PhaseSmoke || phase == protocol.PhaseHealth:
		e.Code = "health_failed"
	}
	if errors.As(err, &exit) && e.Output == "" {
		e.Output = exit.Output
	}
	e.Component, e.Phase = component, phase
	return e
}
