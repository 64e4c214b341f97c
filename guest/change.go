package guest

import (
	"context"
	"errors"
	"fmt"

	"hermes-box/guest/component"
	"hermes-box/guest/protocol"
)

// change is the change of one component.
type change struct {
	g    *Guest
	c    component.Component
	tx   protocol.Transaction
	want protocol.Component
	kept kept
	have *release // the wanted release, if it is on the disk already; else it is staged

	staged  chan error    // the result of staging
	applied chan struct{} // closed when the wanted release is current
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
	// From here on the component counts as applied: after a failure below, recovery completes the records.
	ch.journal.Step = committing
	if err := ch.g.writeJournal(ch.journal); err != nil {
		// The journal may be on the disk in spite of the error. A crash while undoing would then make recovery complete a
		// change that is half undone. So the journal is first set back; if that fails too, nothing is touched and recovery
		// does what the journal says.
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

// unrecorded is the error when the component is healthy and recovery has to complete the records.
func (ch *change) unrecorded(err error) error {
	return component.Failure(fmt.Errorf("it is healthy, but this could not be recorded: %w", err), ch.c.Name(), protocol.PhaseHealth)
}

// ahead is the journal between two components.
func (ch *change) ahead() *journal {
	return &journal{Transaction: ch.tx, Boot: ch.g.bootID(), Step: ahead}
}

// take waits for staging and renames the result to its release directory. From here on there is something to undo.
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

// plan makes the journal of this component, before the first effect.
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
	// One previous release is kept: the current one, or the one before it if the current one is broken and replaced by a
	// copy of itself.
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
