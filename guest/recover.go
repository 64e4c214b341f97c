package guest

import (
	"context"
	"errors"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// Recover finishes or undoes an interrupted change: if the candidate was healthy, the records are completed, else everything
// is restored. It is no error if nothing was interrupted. It runs at boot before the services, and before every Apply. If
// another helper is changing the box, it does nothing and does not wait: the services that this Apply starts require the
// recovery unit.
func (g *Guest) Recover(ctx context.Context) (protocol.Recovered, error) {
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
	case locking: // the objects stay: some of the next transaction may have been received
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

// undo restores what the change has touched, in reverse order. It removes exactly what the change made and what was staged for
// later components.
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

// restoreUnit restarts the service, which then runs the previous release. Inside the recovery unit, which the services wait
// for, that would be a deadlock: there the service is only stopped. After a reboot it does not run yet.
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

// restartUnit restarts a service, which then has the recorded ports.
func (g *Guest) restartUnit(ctx context.Context, unit string) error {
	if err := g.Machine.RestartUnit(ctx, unit); err != nil {
		return err
	}
	g.Did("restart " + unit)
	return component.PortsTaken(g.Tree, unit)
}

func (g *Guest) stopUnit(ctx context.Context, unit string) error {
	if err := g.Machine.StopUnit(ctx, unit); err != nil {
		return err
	}
	g.Did("stop " + unit)
	return nil
}
