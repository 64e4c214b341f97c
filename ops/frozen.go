package ops

import (
	"context"

	"hermes-box/ops/fault"
)

// frozen is a call into the guest that can keep the data disk frozen after its step has ended. A nil one is of a disk
// that is not frozen.
type frozen struct {
	ended  chan struct{} // closed when the call has ended
	err    error         // of the call, once it has ended
	cancel context.CancelFunc
	detach func() bool
}

// startCall runs a call into the guest. It is canceled when ctx ends, unless keep was called before.
func (b *Box) startCall(ctx context.Context, call func(context.Context) error) *frozen {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &frozen{ended: make(chan struct{}), cancel: cancel, detach: context.AfterFunc(ctx, cancel)}
	go func() {
		defer close(f.ended)
		defer cancel()
		f.err = call(kept)
	}()
	return f
}

// keep makes the call outlive its context, so that the disk does not thaw while the VM is being killed. It returns false
// if the context has ended.
func (f *frozen) keep() bool { return f.detach() }

// check returns an error if the disk may be frozen no longer.
func (f *frozen) check() error {
	if f == nil {
		return nil
	}
	select {
	case <-f.ended:
		return fault.New(fault.ExternalFailed, "the box is not destroyed, because programs in it could write again after its last backup: %w", f.err).
			Hint("hermes-box destroy")
	default:
		return nil
	}
}

// release thaws the disk, if its VM still runs.
func (f *frozen) release() {
	if f == nil {
		return
	}
	f.cancel()
	<-f.ended
}
