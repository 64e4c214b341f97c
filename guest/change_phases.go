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

// undoTime is the timeout for undoing a change.
const undoTime = 5 * time.Minute

// skip checks a component that is applied already. It restarts the service only if the service does not run, or runs
// with old ports.
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

// smoke checks that the release runs.
func (ch *change) smoke(ctx context.Context) error {
	return ch.c.Smoke(ctx, ch.g.components(), ch.want, ch.dir())
}

// activate makes the release current and restarts the service.
func (ch *change) activate(ctx context.Context) error {
	if err := ch.g.checkCommands(ch.c); err != nil {
		return err
	}
	ch.journal.Step = activating
	if err := ch.g.writeJournal(ch.journal); err != nil {
		return err
	}
	if err := ch.makeStateDirs(ctx); err != nil {
		return err
	}
	if err := ch.g.makeCurrent(ch.c, ch.journal.Candidate.Dir); err != nil {
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

// health waits until the component is healthy, and checks that its dependents still run.
func (ch *change) health(ctx context.Context) error {
	if err := component.WaitHealthy(ctx, ch.g.components(), ch.c); err != nil {
		return err
	}
	for _, name := range component.Dependents[ch.c.Name()] {
		// A dependent that is incomplete does not count: this component has not broken it.
		if incomplete, err := ch.g.incomplete(ctx, name); err != nil {
			return err
		} else if incomplete {
			continue
		}
		if err := ch.g.smokeCurrent(ctx, name); err != nil {
			return fmt.Errorf("%s does not work with %s %s: %w", name, ch.c.Name(), ch.want.Version, err)
		}
	}
	return nil
}

// makeStateDirs makes the directories that the component may write to on the data disk, and the files that it needs
// before its first start. Existing directories belong to the user and keep their owner, mode and content.
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

// fail undoes the change of the component and returns the failure. It does so even if ctx has ended.
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
		ch.journal = ch.ahead() // nothing has been changed yet
	}
	if err := ch.g.undo(ctx, ch.journal); err != nil {
		failure.Message += fmt.Sprintf("; and undoing the change failed: %v", err)
		return failure
	}
	ch.event(protocol.PhaseActivate, protocol.Undone, "")
	return failure
}
