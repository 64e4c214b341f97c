package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hermes-box/guest/protocol"
)

// undoTime bounds putting things back, also after the caller gave up.
const undoTime = 5 * time.Minute

// change is one component on its way through the phases.
type change struct {
	g       *Guest
	c       component
	want    protocol.Component
	journal *journal
}

func (g *Guest) applyComponent(ctx context.Context, c component, tx protocol.Transaction, want protocol.Component, portsMoved bool) error {
	all, err := g.releases()
	if err != nil {
		return err
	}
	k := all[c.name()]
	have, err := g.keptRelease(ctx, c, want, k)
	if err != nil {
		return err
	}
	ch := change{g: g, c: c, want: want}
	if have != nil && have == k.Current && g.linked(c, have.Dir) {
		return ch.skip(ctx, portsMoved)
	}
	if ch.journal, err = g.plan(ctx, c, tx, want, k, have); err != nil {
		return err
	}
	if err := g.writeJournal(ch.journal); err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		do   func(context.Context) error
	}{
		{protocol.PhaseStage, ch.stage},
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
			return ch.fail(ctx, p.name, err)
		}
		ch.event(p.name, protocol.Done, "")
	}
	// From here on it is applied, come what may: a failure below is finished by recover.
	ch.journal.Step = committing
	if err := g.writeJournal(ch.journal); err != nil {
		ch.journal.Step = activating
		return ch.fail(ctx, protocol.PhaseHealth, err)
	}
	if err = g.commit(ctx, ch.journal); err == nil {
		err = g.clearJournal()
	}
	if err != nil {
		return phaseError(fmt.Errorf("it is healthy, but recording that failed: %w", err), c.name(), protocol.PhaseHealth)
	}
	return nil
}

// plan is the journal of a change before its first effect.
func (g *Guest) plan(ctx context.Context, c component, tx protocol.Transaction, want protocol.Component, k kept, have *release) (*journal, error) {
	j := &journal{Transaction: tx, Boot: g.bootID(), Step: staging, Fresh: have == nil}
	var err error
	if j.Before, err = g.currentRelease(c); err != nil {
		return nil, err
	}
	if have != nil {
		j.Candidate = *have
	} else {
		j.Candidate.Component = want
		if j.Candidate.Dir, err = g.freeName(c, want.Version, j.Before, k); err != nil {
			return nil, err
		}
	}
	if c.unit() != "" {
		units, err := g.System.Units(ctx, c.unit())
		if err != nil {
			return nil, err
		}
		j.Running = units[c.unit()].Active == "active"
	}
	// One previous release is kept: the current one, or, where the current one is broken and replaced by
	// itself, the one before it.
	switch {
	case have != nil:
	case k.Current != nil && k.Current.digest() == protocol.ReleaseDigest(want.Artifacts):
		if k.Current.Dir != j.Candidate.Dir {
			j.Drop = k.Current.Dir
		}
	case k.Previous != nil:
		j.Drop = k.Previous.Dir
	}
	return j, nil
}

// skip leaves a component that is applied; its service follows where the ports have moved.
func (ch change) skip(ctx context.Context, portsMoved bool) error {
	if portsMoved && ch.c.unit() != "" {
		ch.event(protocol.PhaseHealth, protocol.Started, "")
		err := ch.g.restartUnit(ctx, ch.c.unit())
		if err == nil {
			err = ch.wait(ctx)
		}
		if err != nil {
			ch.event(protocol.PhaseHealth, protocol.Failed, err.Error())
			return phaseError(err, ch.c.name(), protocol.PhaseHealth)
		}
	}
	ch.event("", protocol.Skipped, "")
	return nil
}

func (ch change) stage(ctx context.Context) error {
	if !ch.journal.Fresh {
		return nil // kept from before
	}
	dir := ch.g.stagingPath(ch.c, ch.journal.Transaction.ID)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	ch.g.did("begin " + ch.c.name())
	if err := ch.c.stage(ctx, ch.g, ch.want, dir); err != nil {
		return err
	}
	if err := seal(dir); err != nil {
		return err
	}
	// One sync of everything is faster than one for each of ten thousand files.
	if err := ch.g.System.Sync(ctx); err != nil {
		return err
	}
	ch.g.did("stage " + ch.c.name())
	return ch.g.rename(dir, ch.dir())
}

func (ch change) smoke(ctx context.Context) error { return ch.c.smoke(ctx, ch.g, ch.want, ch.dir()) }

func (ch change) activate(ctx context.Context) error {
	if err := ch.g.commandsFree(ch.c); err != nil {
		return err
	}
	ch.journal.Step = activating
	if err := ch.g.writeJournal(ch.journal); err != nil {
		return err
	}
	if err := ch.g.makeStateDirs(ctx, ch.c); err != nil {
		return err
	}
	if err := ch.g.link(ch.c, ch.journal.Candidate.Dir); err != nil {
		return err
	}
	if ch.c.unit() == "" {
		return nil
	}
	if err := ch.g.System.EnableUnit(ctx, ch.c.unit()); err != nil {
		return err
	}
	return ch.g.restartUnit(ctx, ch.c.unit())
}

func (ch change) health(ctx context.Context) error {
	if err := ch.wait(ctx); err != nil {
		return err
	}
	for _, name := range dependents[ch.c.name()] {
		if err := ch.g.smokeCurrent(ctx, name); err != nil {
			return fmt.Errorf("%s on %s %s: %w", name, ch.c.name(), ch.want.Version, err)
		}
	}
	return nil
}

// fail puts the component back and says what happened. It works on when the caller has given up: what is left
// half done would only be undone later.
func (ch change) fail(ctx context.Context, phase string, err error) error {
	if c := ctx.Err(); c != nil && !errors.Is(err, c) {
		err = errors.Join(c, err)
	}
	failure := phaseError(err, ch.c.name(), phase)
	ch.event(phase, protocol.Failed, failure.Message)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	if err := ch.g.undo(ctx, ch.journal); err != nil {
		failure.Message += fmt.Sprintf("; and putting it back failed: %v", err)
		return failure
	}
	ch.event(protocol.PhaseActivate, protocol.Undone, "")
	return failure
}

func (ch change) dir() string { return ch.g.releasePath(ch.c, ch.journal.Candidate.Dir) }

func (ch change) event(phase, state, line string) {
	ch.g.emit(protocol.Event{Component: ch.c.name(), Phase: phase, State: state, Line: line})
}
