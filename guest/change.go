package guest

import (
	"context"
	"errors"
	"fmt"

	"hermes-box/guest/component"
	"hermes-box/guest/protocol"
)

// change takes one component of a transaction through the phases.
type change struct {
	g    *Guest
	c    component.Component
	tx   protocol.Transaction
	want protocol.Component
	kept kept
	have *release // the wanted release; nil if it is not on the disk yet and has to be staged

	staged  chan error    // the result of staging
	applied chan struct{} // closed when the component is healthy and recorded
	journal *journal
}

// apply takes one component through the phases. stop cancels the staging of later components.
func (ch *change) apply(ctx context.Context, stop func()) error {
	if ch.have != nil && ch.have == ch.kept.Current && ch.g.isCurrent(ch.c, ch.have.Dir) {
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
	// Once the journal says committing, the component counts as applied: after a later failure, recovery completes the
	// records.
	ch.journal.Step = committing
	if err := ch.g.writeJournal(ch.journal); err != nil {
		// The journal may be on the disk in spite of the error. After a crash while undoing, recovery would then
		// complete a change that is half undone. So first write the journal of the earlier step. If that fails too,
		// undo nothing: recovery acts on whichever journal is on the disk.
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

// unrecorded returns the error for a component that is healthy but not recorded. Recovery will complete the records or,
// if the journal on the disk still says activating, undo the change.
func (ch *change) unrecorded(err error) error {
	return component.Failure(fmt.Errorf("it is healthy, but this could not be recorded: %w", err), ch.c.Name(), protocol.PhaseHealth)
}

// ahead returns the journal for the time between two components, in which only staging is under way.
func (ch *change) ahead() *journal {
	return &journal{Transaction: ch.tx, Boot: ch.g.bootID(), Step: ahead}
}

// take makes and writes the journal of the component; from then on there is something to undo. If the release is not on
// the disk yet, take first waits until it is staged, and in the end renames the staged directory to the
// release directory.
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

// plan makes the journal of this component. It is called before the first effect.
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
	// Keep one release besides the new one. This is the current one. But if the current one is damaged, and the new one
	// is made from the same artifacts to replace it, keep the previous one and drop the current one.
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

func (ch *change) dir() string { return ch.g.releasePath(ch.c, ch.journal.Candidate.Dir) }

func (ch *change) event(phase, state, line string) {
	ch.g.emit(protocol.Event{Component: ch.c.Name(), Phase: phase, State: state, Line: line})
}
