package ops

import (
	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops/lock"
)

// judge returns the state of a box whose guest answers. While an operation is under way that starts or stops the
// services, they do not count as failed. status, create and start all use it.
func judge(guest *protocol.Status, u *Underway) limactl.State {
	state := limactl.Running
	if guest.DataProblem != "" || guest.LockProblem != "" || len(guest.Components) == 0 {
		state = limactl.Degraded
	}
	for _, c := range guest.Components {
		switch c.State {
		case protocol.Healthy, protocol.SetupRequired:
		case protocol.Starting:
			if state == limactl.Running {
				state = limactl.Starting
			}
		default:
			state = limactl.Degraded
		}
	}
	if during := u.during(); state == limactl.Degraded && during != "" {
		return during
	}
	return state
}

// allHealthy reports whether everything in the box works.
func allHealthy(guest *protocol.Status) bool { return judge(guest, nil) == limactl.Running }

// NotAsked is the state of a component that was not asked, or did not answer.
const NotAsked = "unknown"

// compare sets the components of a status, with the desired and the applied version and the state of each, and the
// drift.
func (b *Box) compare(st *Status) {
	d := b.drift(st.Guest)
	drifted := map[string]string{}
	for _, c := range d.Components {
		drifted[c.Name] = c.Reason
	}
	st.Platform = append(changes(d.Platform), b.machineDrift()...)
	for _, c := range st.Guest.Components {
		out := ComponentStatus{Name: c.Name, Applied: c.Applied, Previous: c.Previous, Drift: drifted[c.Name],
			State: c.State, Last: c.State, Detail: c.Detail, Service: c.Service, Since: max(c.Since, 0)}
		if b.Lock != nil {
			out.Desired = b.Lock.Components[c.Name].Version
		}
		if !st.Live {
			out.State, out.Service, out.Since = NotAsked, "", 0
			if st.State == string(limactl.Stopped) {
				out.State = protocol.Stopped
			}
		}
		st.Components = append(st.Components, out)
	}
}

// drift compares the desired lock with the applied one. It is empty if either is not known.
func (b *Box) drift(guest *protocol.Status) lock.Drift {
	if guest == nil || b.Lock == nil {
		return lock.Drift{}
	}
	applied, err := lock.Parse("applied.lock", []byte(guest.Lock))
	if err != nil {
		return lock.Drift{}
	}
	return lock.Compare(applied, b.Lock)
}

func changes(all []lock.Change) (out []Drifted) {
	for _, c := range all {
		out = append(out, Drifted(c))
	}
	return out
}
