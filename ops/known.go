package ops

import (
	"time"

	"hermes-box/limactl"
	"hermes-box/ops/schedule"
)

// Known returns the status of the box from the host's files. It takes about a millisecond: it starts no process, takes
// no lock and does not wait. The state inside the box is the last known one, never live.
func (b *Box) Known() *Status {
	st := b.recorded()
	if b.Record == nil || !b.Record.Ready {
		return st
	}
	b.settleState(st, observation{vm: limactl.Instance{State: b.Lima.Peek(b.Record.Instance)}})
	if last := b.lastSeen(); last != nil {
		st.Guest, st.Seen = &last.Status, &last.At
		b.compare(st)
	}
	return st
}

// recorded returns the part of a status that needs neither the VM nor the guest: the ports, what is wrong with the lock
// file, the operation that is under way or was cut off, and the timer of backups. It does not find out the state of a
// finished box.
func (b *Box) recorded() *Status {
	st := &Status{Box: b.Name(), State: string(limactl.Absent), Ports: b.Ports()}
	if b.LockErr != nil {
		st.LockError = b.LockErr.Error()
	}
	if err := b.showUnderway(st); err != nil {
		st.Cause = err.Error()
	}
	if b.Record != nil && !b.Record.Ready {
		st.State = string(limactl.Degraded)
		if st.Underway != nil && st.Underway.Running {
			st.State = string(limactl.Starting)
		}
	}
	if b.Record != nil && b.Record.Ready {
		if s := b.Schedule(time.Now()); s.Every != "" || s.Timer != schedule.Off && s.Timer != schedule.None || s.Problem != "" {
			st.Schedule = s
		}
	}
	return st
}
