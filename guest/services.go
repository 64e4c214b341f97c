package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

const (
	startTime   = 4 * time.Minute // for all services to become healthy: emulated CPUs are slow
	quiesceTime = 3 * time.Minute
)

// Start starts the services of what is applied, waits until each works or cannot work any more, and tells the
// status. It installs nothing. One service that fails keeps no other from running: it is in the status. An
// error means that nothing may run: the disk is not the box's own, or an interrupted change is not resolved.
//
// It holds no lock: the recovery unit takes it, and systemd puts its jobs in order.
func (g *Guest) Start(ctx context.Context) (protocol.Status, error) {
	// The unit mounts the disk too, so the disk is looked at after it.
	recovery := g.Machine.StartUnit(ctx, layout.RecoveryUnit)
	if err := g.CheckData(ctx); err != nil {
		return protocol.Status{}, err
	}
	if recovery != nil {
		return protocol.Status{}, &protocol.Error{Code: "external_failed", Phase: "recovery", Output: component.OutputOf(recovery),
			Message: fmt.Sprintf("the recovery before the services did not succeed: %v", recovery), Hint: "hermes-box logs recovery"}
	}
	applied, err := g.AppliedState()
	if err != nil {
		return protocol.Status{}, err
	}
	var wait sync.WaitGroup
	for _, c := range component.All() {
		if _, ok := applied[c.Name()]; ok && c.Unit() != "" {
			wait.Go(func() { g.startService(ctx, c) })
		}
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return protocol.Status{}, err
	}
	return g.Status(ctx)
}

// startService starts one service and waits for its health. How it ended is told by an event and by the status.
func (g *Guest) startService(ctx context.Context, c component.Component) {
	event := protocol.Event{Component: c.Name(), Phase: "start", State: protocol.Started}
	g.emit(event)
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("not healthy after %v", startTime))
	defer cancel()
	err := g.Machine.StartUnit(ctx, c.Unit())
	if err == nil {
		err = component.WaitHealthy(ctx, g.components(), c)
	}
	event.State = protocol.Done
	if err != nil {
		event.State, event.Line = protocol.Failed, err.Error()
		if out := component.OutputOf(err); out != "" {
			event.Line += "\n" + out
		}
	}
	g.emit(event)
}

// Quiesce stops the services and writes everything to the disks, so that the machine can be stopped at any
// moment after. What a person runs is left alone. A service that does not stop is an error, but the disks are
// synced all the same.
func (g *Guest) Quiesce(ctx context.Context) (protocol.Quiesced, error) {
	done := protocol.Quiesced{Stopped: []string{}}
	unlock, err := g.exclusive(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, quiesceTime)
	defer cancel()
	units, err := g.Machine.Units(ctx, layout.HermesUnit, layout.ExecutorUnit)
	if err != nil {
		return done, errors.Join(err, g.Machine.Sync(ctx))
	}
	var failed error
	for _, unit := range []string{layout.HermesUnit, layout.ExecutorUnit} {
		// One that is waiting to be restarted is "activating" and has to be stopped too.
		if a := units[unit].Active; a == "inactive" || a == "failed" {
			continue
		}
		if err := g.stopUnit(ctx, unit); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		done.Stopped = append(done.Stopped, unit)
	}
	return done, errors.Join(failed, g.Machine.Sync(ctx))
}
