package guest

import (
	"context"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// risingTime is how long a service that runs may take to become healthy; after that it is not just slow.
const risingTime = 3 * time.Minute

// componentHealth returns the state of all six, in order. It asks systemd once about all services. A component that was never
// applied is stopped; one that cannot be asked is unknown.
func (g *Guest) componentHealth(ctx context.Context) []protocol.ComponentStatus {
	applied, unreadable := g.AppliedState()
	units, unasked := g.Machine.Units(ctx, layout.HermesUnit, layout.ExecutorUnit)
	all := make([]protocol.ComponentStatus, 0, len(component.All()))
	for _, c := range component.All() {
		entry, ok := applied[c.Name()]
		s := protocol.ComponentStatus{Name: c.Name(), Applied: entry.Version, Previous: entry.Previous, Service: units[c.Unit()].Active}
		switch {
		case unreadable != nil:
			s.State, s.Detail = protocol.Unknown, unreadable.Error()
		case !ok:
			s.State, s.Detail = protocol.Stopped, "not installed"
		case c.Unit() == "":
			s.State, s.Detail = c.Health(ctx, g.components(), machine.Unit{})
		case unasked != nil:
			s.State, s.Detail = protocol.Unknown, unasked.Error()
		default:
			g.serviceHealth(ctx, c, units[c.Unit()], &s)
		}
		all = append(all, s)
	}
	return all
}

// serviceHealth sets the state of a component that a service runs.
func (g *Guest) serviceHealth(ctx context.Context, c component.Component, unit machine.Unit, s *protocol.ComponentStatus) {
	if !unit.Since.IsZero() {
		s.Since = int64(g.now().Sub(unit.Since).Seconds())
	}
	s.State, s.Detail = c.Health(ctx, g.components(), unit)
	if s.State == protocol.FailedState && g.rising(unit) {
		s.State = protocol.Starting
	}
	if s.GivenUp = s.State == protocol.FailedState && component.GivenUp(unit); s.GivenUp {
		s.Log = g.Machine.UnitLog(ctx, c.Unit())
	}
}

// rising reports whether a service that runs is still new. One that keeps ending is not.
func (g *Guest) rising(unit machine.Unit) bool {
	return unit.Active == "active" && unit.Restart < component.MaxRestarts && g.now().Sub(unit.Since) < risingTime
}
