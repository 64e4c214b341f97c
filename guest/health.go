package guest

import (
	"context"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// startingTime is how long a service that runs may take to become healthy. After that it counts as failed.
const startingTime = 3 * time.Minute

// componentHealth returns the state of all six components, in order. It asks systemd once about all services. A
// component that was never applied is stopped; if systemd does not answer, a service is unknown.
func (g *Guest) componentHealth(ctx context.Context) []protocol.ComponentStatus {
	applied, appliedErr := g.AppliedState()
	units, unitsErr := g.Machine.Units(ctx, layout.HermesUnit, layout.ExecutorUnit)
	all := make([]protocol.ComponentStatus, 0, len(component.All()))
	for _, c := range component.All() {
		entry, ok := applied[c.Name()]
		s := protocol.ComponentStatus{Name: c.Name(), Applied: entry.Version, Previous: entry.Previous, Service: units[c.Unit()].Active}
		switch {
		case appliedErr != nil:
			s.State, s.Detail = protocol.Unknown, appliedErr.Error()
		case !ok:
			s.State, s.Detail = protocol.Stopped, "not installed"
		case c.Unit() == "":
			s.State, s.Detail = c.Health(ctx, g.components(), machine.Unit{})
		case unitsErr != nil:
			s.State, s.Detail = protocol.Unknown, unitsErr.Error()
		default:
			g.serviceHealth(ctx, c, units[c.Unit()], &s)
		}
		all = append(all, s)
	}
	return all
}

// serviceHealth sets the state of a component that runs as a service.
func (g *Guest) serviceHealth(ctx context.Context, c component.Component, unit machine.Unit, s *protocol.ComponentStatus) {
	if !unit.Since.IsZero() {
		s.Since = int64(g.now().Sub(unit.Since).Seconds())
	}
	s.State, s.Detail = c.Health(ctx, g.components(), unit)
	if s.State == protocol.FailedState && g.justStarted(unit) {
		s.State = protocol.Starting
	}
	if s.GivenUp = s.State == protocol.FailedState && component.GivenUp(unit); s.GivenUp {
		s.Log = g.Machine.UnitLog(ctx, c.Unit())
	}
}

// justStarted reports whether a service that runs was started a short time ago. A service that systemd keeps
// restarting does not count.
func (g *Guest) justStarted(unit machine.Unit) bool {
	return unit.Active == "active" && unit.Restart < component.MaxRestarts && g.now().Sub(unit.Since) < startingTime
}
