package guest

import (
	"context"
	"errors"

	"hermes-box/guest/bootstrap"
	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// Recover finishes or undoes an interrupted change: if the new release was healthy, it completes the records; otherwise
// it restores the earlier release. If nothing was interrupted, it does nothing. It runs at boot before the services,
// and before every Apply. If another helper is changing the box, it does nothing and does not wait. To wait would be
// a deadlock, since the services that the other helper starts wait for the recovery unit.
//
// In the throw-away box of a drill it first cuts the network off, so that the services cannot sign in when they start.
func (g *Guest) Recover(ctx context.Context) (protocol.Recovered, error) {
	if err := bootstrap.KeepOffline(ctx, g.Tree, g.Machine); err != nil {
		return protocol.Recovered{}, err
	}
	unlock, err := g.TryLock(layout.Mutex)
	if err != nil {
		return protocol.Recovered{}, err
	}
	if unlock == nil {
		return protocol.Recovered{Action: "none", Detail: "a change is under way"}, nil
	}
	defer unlock()
	return g.recover(ctx)
}

func (g *Guest) recover(ctx context.Context) (protocol.Recovered, error) {
	j, err := g.readJournal()
	if err != nil {
		return protocol.Recovered{}, err
	}
	if err := g.RemoveAll(g.Path(layout.Smoke)); err != nil {
		return protocol.Recovered{}, err
	}
	if j == nil {
		return protocol.Recovered{Action: "none"}, nil
	}
	done := protocol.Recovered{Action: "finished", Detail: j.String()}
	switch j.Step {
	case committing:
		if err = g.commit(ctx, j); err == nil {
			err = g.removeStaged(j.Transaction)
		}
		if err == nil {
			err = g.clearJournal()
		}
	case locking: // keep the objects: those of the next transaction may be among them
		if err = g.finish(j.Transaction); err == nil {
			err = g.clearJournal()
		}
	default:
		done.Action = "undone"
		err = g.undo(ctx, j)
	}
	if err != nil {
		return protocol.Recovered{}, component.Failure(err, j.Candidate.Component.Name, protocol.PhaseActivate)
	}
	return done, nil
}

// undo undoes the change of one component. If the change had begun to activate the new release, undo makes the earlier
// one current again and restores its service. It then removes the new release, unless it was there before the change,
// and the releases that were staged for later components.
func (g *Guest) undo(ctx context.Context, j *journal) error {
	var service error // the files are restored even if systemd fails
	if j.Step != ahead {
		c, ok := j.component()
		if !ok {
			return errors.New("the journal has no component: " + j.String())
		}
		if j.Step == activating {
			if err := g.makeCurrent(c, j.Before); err != nil {
				return err
			}
			service = g.restoreUnit(ctx, c, j)
		}
		if j.Fresh {
			if err := g.removeRelease(ctx, c, j.Candidate.Dir); err != nil {
				return err
			}
		}
	}
	if err := g.removeStaged(j.Transaction); err != nil {
		return errors.Join(service, err)
	}
	return errors.Join(service, g.clearJournal())
}

// restoreUnit restarts the service if it ran before the change, so that it runs the earlier release again; otherwise it
// stops the service. Within the recovery unit it always stops the service: a restart would be a deadlock, since the
// services wait for that unit. After a reboot there is nothing to do, since the service does not run yet.
func (g *Guest) restoreUnit(ctx context.Context, c component.Component, j *journal) error {
	if c.Unit() == "" || j.Boot != g.bootID() {
		return nil
	}
	units, err := g.Machine.Units(ctx, layout.RecoveryUnit)
	if err != nil {
		return err
	}
	if j.Before != "" && j.Running && units[layout.RecoveryUnit].Active != "activating" {
		return g.restartUnit(ctx, c.Unit())
	}
	return g.stopUnit(ctx, c.Unit())
}

// restartUnit restarts a service, which then uses the recorded ports.
func (g *Guest) restartUnit(ctx context.Context, unit string) error {
	if err := g.Machine.RestartUnit(ctx, unit); err != nil {
		return err
	}
	g.Did("restart " + unit)
	return component.ClearPortsMoved(g.Tree, unit)
}

func (g *Guest) stopUnit(ctx context.Context, unit string) error {
	if err := g.Machine.StopUnit(ctx, unit); err != nil {
		return err
	}
	g.Did("stop " + unit)
	return nil
}
