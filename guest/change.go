package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/protocol"
)

// undoTime bounds putting things back, also after the caller gave up.
const undoTime = 5 * time.Minute

// change is one component on its way through the phases.
type change struct {
	g    *Guest
	c    component.Component
	tx   protocol.Transaction
	want protocol.Component
	kept kept
	have *release // the release wanted, where it is kept from before; else it is staged

	staged  chan error    // what came of staging it
	applied chan struct{} // closed when it is what is current
	journal *journal
}

// apply is the turn of the component. stop ends what is staged for those after it.
func (ch *change) apply(ctx context.Context, stop func()) error {
	if ch.have != nil && ch.have == ch.kept.Current && ch.g.linked(ch.c, ch.have.Dir) {
		if err := ch.skip(ctx); err != nil {
			return ch.fail(ctx, protocol.PhaseHealth, err, stop)
		}
		close(ch.applied)
		return nil
	}
	if err := ch.take(ctx); err != nil {
		return ch.fail(ctx, protocol.PhaseStage, err, stop)
	}
	for _, p := range []struct {
		name string
		do   func(context.Context) error
	}{
		{protocol.PhaseSmoke, ch.smoke},
		{protocol.PhaseActivate, ch.activate},
		{protocol.PhaseHealth, ch.health},
	} {
		ch.event(p.name, protocol.Started, "")
		err := ctx.Err()
		if err == nil {
			err = p.do(ctx)
		}
		if err != nil {
			return ch.fail(ctx, p.name, err, stop)
		}
		ch.event(p.name, protocol.Done, "")
	}
	// From here on it is applied, come what may: a failure below is finished by recover.
	ch.journal.Step = committing
	if err := ch.g.writeJournal(ch.journal); err != nil {
		// It may be on the disk all the same, and then a crash in the undoing would finish what is half undone. So the
		// disk says first that it is undone; where it cannot, nothing is touched, and recover does what it says.
		ch.journal.Step = activating
		if again := ch.g.writeJournal(ch.journal); again != nil {
			return ch.unrecorded(errors.Join(err, again))
		}
		return ch.fail(ctx, protocol.PhaseHealth, err, stop)
	}
	err := ch.g.commit(ctx, ch.journal)
	if err == nil {
		err = ch.g.writeJournal(ch.ahead())
	}
	if err != nil {
		return ch.unrecorded(err)
	}
	close(ch.applied)
	return nil
}

// unrecorded is a failure that recover resolves.
func (ch *change) unrecorded(err error) error {
	return component.Failure(fmt.Errorf("it is healthy, but recording that failed: %w", err), ch.c.Name(), protocol.PhaseHealth)
}

// ahead is the journal of a transaction between two turns.
func (ch *change) ahead() *journal {
	return &journal{Transaction: ch.tx, Boot: ch.g.bootID(), Step: ahead}
}

// take gives what was staged its name among the releases; from here on there is something to undo.
func (ch *change) take(ctx context.Context) error {
	if ch.have == nil {
		if err := <-ch.staged; err != nil {
			return err
		}
	} else {
		ch.event(protocol.PhaseStage, protocol.Skipped, "")
	}
	if err := ch.plan(ctx); err != nil {
		return err
	}
	if err := ch.g.writeJournal(ch.journal); err != nil || ch.have != nil {
		return err
	}
	ch.g.Did("stage " + ch.c.Name())
	return ch.g.Rename(ch.g.stagingPath(ch.c, ch.tx.ID), ch.dir())
}

// plan makes the journal of the turn, before its first effect.
func (ch *change) plan(ctx context.Context) error {
	j, k := ch.ahead(), ch.kept
	j.Step, j.Fresh = staging, ch.have == nil
	var err error
	if j.Before, err = ch.g.currentRelease(ch.c); err != nil {
		return err
	}
	if ch.have != nil {
		j.Candidate = *ch.have
	} else {
		j.Candidate.Component = ch.want
		if j.Candidate.Dir, err = ch.g.freeName(ch.c, ch.want.Version, j.Before, k); err != nil {
			return err
		}
	}
	if ch.c.Unit() != "" {
		units, err := ch.g.Machine.Units(ctx, ch.c.Unit())
		if err != nil {
			return err
		}
		j.Running = units[ch.c.Unit()].Active == "active"
	}
	// One previous release is kept: the current one, or, where the current one is broken and replaced by
	// itself, the one before it.
	switch {
	case ch.have != nil:
	case k.Current != nil && k.Current.digest() == protocol.ReleaseDigest(ch.want.Artifacts):
		if k.Current.Dir != j.Candidate.Dir {
			j.Drop = k.Current.Dir
		}
	case k.Previous != nil:
		j.Drop = k.Previous.Dir
	}
	ch.journal = j
	return nil
}

// skip leaves a component that is applied and works. A service that does not run is started, and one that runs
// follows where the ports have moved.
func (ch *change) skip(ctx context.Context) error {
	if unit := ch.c.Unit(); unit != "" {
		now, err := component.UnitOf(ctx, ch.g.components(), ch.c)
		if err != nil {
			return err
		}
		moved, err := component.PortsMoved(ch.g.Tree, unit)
		if err != nil {
			return err
		}
		if moved || now.Active != "active" && now.Active != "activating" {
			ch.event(protocol.PhaseHealth, protocol.Started, "")
			if err := ch.g.restartUnit(ctx, unit); err != nil {
				return err
			}
		}
	}
	if err := component.WaitHealthy(ctx, ch.g.components(), ch.c); err != nil {
		return err
	}
	ch.event("", protocol.Skipped, "")
	return nil
}

func (ch *change) smoke(ctx context.Context) error {
	return ch.c.Smoke(ctx, ch.g.components(), ch.want, ch.dir())
}

func (ch *change) activate(ctx context.Context) error {
	if err := ch.g.commandsFree(ch.c); err != nil {
		return err
	}
	ch.journal.Step = activating
	if err := ch.g.writeJournal(ch.journal); err != nil {
		return err
	}
	if err := ch.makeStateDirs(ctx); err != nil {
		return err
	}
	if err := ch.g.link(ch.c, ch.journal.Candidate.Dir); err != nil {
		return err
	}
	if ch.c.Unit() == "" {
		return nil
	}
	if err := ch.g.Machine.EnableUnit(ctx, ch.c.Unit()); err != nil {
		return err
	}
	return ch.g.restartUnit(ctx, ch.c.Unit())
}

func (ch *change) health(ctx context.Context) error {
	if err := component.WaitHealthy(ctx, ch.g.components(), ch.c); err != nil {
		return err
	}
	for _, name := range component.Dependents[ch.c.Name()] {
		// What was broken before its turn says nothing of this one.
		if lost, err := ch.g.lost(ctx, name); err != nil {
			return err
		} else if lost {
			continue
		}
		if err := ch.g.smokeCurrent(ctx, name); err != nil {
			return fmt.Errorf("%s on %s %s: %w", name, ch.c.Name(), ch.want.Version, err)
		}
	}
	return nil
}

// makeStateDirs makes the directories that the component may write to on the data disk, and the first files in them. What
// exists keeps its owner, mode and content: it is the user's.
func (ch *change) makeStateDirs(ctx context.Context) error {
	for _, d := range ch.c.StateDirs() {
		if err := os.MkdirAll(filepath.Dir(ch.g.Path(d.Path)), 0o755); err != nil {
			return err
		}
		if _, err := ch.g.MakeDir(d, ch.g.Machine); err != nil {
			return err
		}
	}
	return ch.c.Prepare(ctx, ch.g.components())
}

// fail puts the component back and says what happened. It works on when the caller has given up: what is left
// half done would only be undone later.
func (ch *change) fail(ctx context.Context, phase string, err error, stop func()) error {
	stop()
	if c := ctx.Err(); c != nil && !errors.Is(err, c) {
		err = errors.Join(c, err)
	}
	failure := component.Failure(err, ch.c.Name(), phase)
	ch.event(phase, protocol.Failed, failure.Message)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	if ch.journal == nil {
		ch.journal = ch.ahead() // its turn had changed nothing yet
	}
	if err := ch.g.undo(ctx, ch.journal); err != nil {
		failure.Message += fmt.Sprintf("; and putting it back failed: %v", err)
		return failure
	}
	ch.event(protocol.PhaseActivate, protocol.Undone, "")
	return failure
}

func (ch *change) dir() string { return ch.g.releasePath(ch.c, ch.journal.Candidate.Dir) }

func (ch *change) event(phase, state, line string) {
	ch.g.emit(protocol.Event{Component: ch.c.Name(), Phase: phase, State: state, Line: line})
}
