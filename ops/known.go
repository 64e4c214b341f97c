package ops

import "hermes-box/limactl"

// Known is the box as the host's own files tell it, in about a millisecond: no child process, no lock, no waiting. It
// is for a screen that must show something at once; what is inside is as last seen, never live.
func (b *Box) Known() *Status {
	st := &Status{Box: b.Name(), State: string(limactl.Absent), Ports: b.Ports()}
	if b.LockErr != nil {
		st.LockError = b.LockErr.Error()
	}
	_ = b.busy(st)
	if b.Record == nil {
		return st
	}
	st.State = string(b.Lima.Peek(b.Record.Instance))
	if last := b.lastSeen(); last != nil {
		st.Guest, st.Seen = &last.Status, &last.At
		b.compare(st)
	}
	return st
}
