package guest

import (
	"context"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// risingTime is how long a service that runs may take to become healthy; after that it is not just slow.
const risingTime = 3 * time.Minute

// componentHealth returns the state of all six, in order. units are the states of HermesUnit and ExecutorUnit; a missing
// one counts as inactive. A component that was never applied is stopped.
func (g *Guest) componentHealth(ctx context.Context, units map[string]machine.Unit) ([]protocol.ComponentStatus, error) {
	applied, err := g.AppliedState()
	if err != nil {
		return nil, err
	}
	all := make([]protocol.ComponentStatus, 0, len(component.All()))
	for _, c := range component.All() {
		entry, ok := applied[c.Name()]
		s := protocol.ComponentStatus{Name: c.Name(), Applied: entry.Version, Previous: entry.Previous}
		unit := units[c.Unit()]
		if c.Unit() != "" {
			s.Service = unit.Active
			if s.Service == "" {
				s.Service = "inactive"
			}
			if !unit.Since.IsZero() {
				s.Since = int64(g.now().Sub(unit.Since).Seconds())
			}
		}
		if ok {
			s.State, s.Detail = c.Health(ctx, g.components(), unit)
			if s.State == protocol.FailedState && g.rising(unit) {
				s.State = protocol.Starting
			}
			if s.GivenUp = s.State == protocol.FailedState && c.Unit() != "" && component.GivenUp(unit); s.GivenUp {
				s.Log = g.Machine.UnitLog(ctx, c.Unit())
			}
		} else {
			s.State, s.Detail = protocol.Stopped, "not installed"
		}
		all = append(all, s)
	}
	return all, nil
}

// rising reports whether a service that runs is still new. One that keeps ending is not.
func (g *Guest) rising(unit machine.Unit) bool {
	return unit.Active == "active" && unit.Restart < component.MaxRestarts && g.now().Sub(unit.Since) < risingTime
}
