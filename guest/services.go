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

// Start starts the services of the applied components and returns the status. It waits for each service until it is
// healthy, needs its setup or can no longer become healthy, but not longer than startTime. It installs nothing. If a
// service fails, the others are still started, and the status shows the failure. If the data disk is not that of this
// box, or the recovery unit fails, Start starts no service and returns an error.
//
// Start does not hold layout.Mutex, because the recovery unit takes it; systemd runs the jobs in the right order.
func (g *Guest) Start(ctx context.Context) (protocol.Status, error) {
	// The recovery unit also mounts the data disk, so the disk is checked after it.
	recovery := g.Machine.StartUnit(ctx, layout.RecoveryUnit)
	if err := g.CheckData(ctx); err != nil {
		return protocol.Status{}, err
	}
	if recovery != nil {
		return protocol.Status{}, &protocol.Error{Code: "external_failed", Phase: "recovery", Output: component.OutputOf(recovery),
			Message: fmt.Sprintf("the recovery unit failed: %v", recovery), Hint: "hermes-box logs recovery"}
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

// startService starts one service and waits until it is healthy. An event reports the result.
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

// Quiesce stops the services and syncs the disks, so that the machine can be stopped. It does not stop programs that a
// person runs. If a service does not stop, Quiesce still syncs the disks, and returns an error.
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
		// A service that waits for its restart is "activating" and must be stopped too.
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
