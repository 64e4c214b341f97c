package guest

import (
	"context"
	"errors"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// Recover finishes or undoes a change that was interrupted: after a healthy candidate the bookkeeping is
// finished, before that everything is put back. Nothing to do is no error. It runs at boot before the
// services, and before every Apply. While another helper is at work nothing is interrupted, and it does not
// wait: the services that a first Apply starts pull the recovery unit in.
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
			err = g.dropStaged(j.Transaction)
		}
		if err == nil {
			err = g.clearJournal()
		}
	case locking: // the objects stay: those of the next transaction may be among them already
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

// undo puts back what the change has touched, in reverse, and removes exactly what it made and what was staged for
// the turns after it.
func (g *Guest) undo(ctx context.Context, j *journal) error {
	var service error // the files are put back even where systemd does not obey
	if j.Step != ahead {
		c, ok := j.component()
		if !ok {
			return errors.New("the journal names no component: " + j.String())
		}
		if j.Step == activating {
			if err := g.link(c, j.Before); err != nil {
				return err
			}
			service = g.putBackUnit(ctx, c, j)
		}
		if j.Fresh {
			if err := g.dropRelease(ctx, c, j.Candidate.Dir); err != nil {
				return err
			}
		}
	}
	if err := g.dropStaged(j.Transaction); err != nil {
		return errors.Join(service, err)
	}
	return errors.Join(service, g.clearJournal())
}

// putBackUnit runs the service on the release before. A start from inside the recovery unit, which the services
// wait for, would be a deadlock: there the service is only stopped, and after a reboot it does not run yet.
func (g *Guest) putBackUnit(ctx context.Context, c component.Component, j *journal) error {
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

func (g *Guest) restartUnit(ctx context.Context, unit string) error {
	if err := g.Machine.RestartUnit(ctx, unit); err != nil {
		return err
	}
	g.Did("restart " + unit)
	return component.PortsTaken(g.Tree, unit) // it has the ports that are recorded
}

func (g *Guest) stopUnit(ctx context.Context, unit string) error {
	if err := g.Machine.StopUnit(ctx, unit); err != nil {
		return err
	}
	g.Did("stop " + unit)
	return nil
}
