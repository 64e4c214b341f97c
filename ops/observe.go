package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/limactl/child"
)

// How long a status waits for limactl and for the guest.
const (
	limaBound   = 5 * time.Second
	statusBound = 20 * time.Second
	// limaAfter is how long observe waits for limactl after the guest has answered.
	limaAfter = time.Second
	// limaDelay is how long observe waits for the guest before it asks limactl too, if the files of the VM show that it
	// runs. On a busy machine a start of limactl costs as much as the answer of the guest.
	limaDelay = time.Second
	// bootingBound is how long observe waits for the guest of a VM that is still booting.
	bootingBound = 2 * time.Second
)

// observation is the state of a VM, from limactl or, if that does not answer, from the files of the VM, and the answer
// of its guest.
type observation struct {
	vm       limactl.Instance
	vmErr    error            // limactl did not answer; then vm is from the files
	guest    *protocol.Status // nil if it was not asked or did not answer
	guestErr error            // why it did not answer
}

// observe asks the guest, Lima's host agent and limactl. It leaves limactl out if the files of the VM show that it runs
// and the guest and the agent answer. The guest decides: if it answers, the box runs, whatever limactl says, and
// observe waits for limactl only limaAfter longer. If limactl says that nothing runs, observe does not wait for the
// guest.
func (b *Box) observe(ctx context.Context) observation {
	ctx, cancel := context.WithTimeoutCause(ctx, statusBound, fmt.Errorf("no answer in %v", statusBound))
	defer cancel()
	limaCtx, stopLima := context.WithTimeoutCause(ctx, limaBound, fmt.Errorf("no answer in %v", limaBound))
	defer stopLima()
	var s observation
	answered, listed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(answered)
		s.guest, s.guestErr = b.guestStatus(ctx)
		if s.guestErr == nil {
			time.AfterFunc(limaAfter, stopLima)
		}
	}()
	agent := make(chan error, 1)
	go func() { agent <- b.Lima.AgentAnswers(ctx, b.Record.Instance) }()
	go func() {
		defer close(listed)
		if b.Lima.Peek(b.Record.Instance) == limactl.Running {
			select {
			case <-answered:
			case <-time.After(limaDelay):
			}
			if limaCtx.Err() != nil || closed(answered) && s.guestErr == nil && <-agent == nil {
				s.vm = b.fromFiles()
				return
			}
		}
		s.vm, s.vmErr = b.instance(limaCtx)
		switch {
		case s.vmErr == nil && off(s.vm):
			cancel()
		case s.vmErr == nil && s.vm.State == limactl.Starting:
			time.AfterFunc(bootingBound, cancel)
		}
	}()
	<-answered
	<-listed
	if s.vmErr != nil {
		s.vm = b.fromFiles()
	}
	return s
}

// fromFiles returns the VM according to its own files, without limactl.
func (b *Box) fromFiles() limactl.Instance {
	return limactl.Instance{Name: b.Record.Instance, State: b.Lima.Peek(b.Record.Instance), Notes: b.Lima.Notes(b.Record.Instance)}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// off reports whether no process of the VM runs.
func off(in limactl.Instance) bool {
	return in.State == limactl.Stopped || in.State == limactl.Absent || in.Left || in.Dead
}

// settleState sets the state and the cause of a status.
func (b *Box) settleState(st *Status, s observation) {
	state, cause := s.vm.State, s.vm.Cause
	var limit *child.ResourceError
	switch {
	case s.guest != nil:
		state = judge(s.guest, nil)
		if s.vm.State == limactl.Running {
			cause = "" // a cause that Lima reported at boot is shown only if a port is dead
		}
	case s.vmErr != nil:
		cause = s.vmErr.Error()
	case gone(s.vm):
		state, cause = limactl.Degraded, b.vmGone().Error()
	case s.vm.State == limactl.Running && errors.As(s.guestErr, &limit): // the guest was not asked
		state, cause = NotAsked, limit.Error()
	case s.vm.State == limactl.Running && s.guestErr != nil:
		state, cause = limactl.Degraded, "the VM runs but does not answer: "+s.guestErr.Error()
	}
	if during := st.Underway.during(); during != "" && state == limactl.Degraded {
		state = during
	}
	if st.State = string(state); state == limactl.Degraded && s.guestErr != nil && s.vm.State == limactl.Running {
		st.Repair = forceHint
	}
	if limit != nil {
		st.Repair = limit.Recovery()
	}
	if cause != "" {
		st.Cause = cause
	}
}

// gone reports whether the VM no longer exists.
func gone(in limactl.Instance) bool { return in.State == limactl.Absent || in.Left }
