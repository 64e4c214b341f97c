package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hermes-box/limactl"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// recover finishes or undoes an earlier operation whose process died. It runs with the box's lock held, before the
// operation next begins. What it removed is in b.leftovers, and a warning in the stream says so.
func (b *Box) recover(ctx context.Context, next Operation, sink Sink) error {
	j, err := b.Home.Journal(b.Name())
	if err != nil || j == nil {
		return err
	}
	cut, ok := OperationNamed(j.Operation)
	switch {
	case !ok:
		return unknownOperation(b.Name(), j.Operation)
	case cut.recover != nil:
		return cut.recover(b, ctx, j, next, sink)
	}
	return b.Home.RemoveJournal(b.Name())
}

// resumeDestroy recovers a destroy. If it has removed nothing yet, its journal is removed. Otherwise only another
// destroy finishes it: no other command deletes the rest of the data.
func (b *Box) resumeDestroy(_ context.Context, j *store.Journal, next Operation, _ Sink) error {
	switch {
	case next.Name == j.Operation:
		return nil // it does all of it again
	case b.Record == nil:
		return b.Home.RemoveJournal(b.Name()) // all was removed but the journal
	}
	whole, err := b.whole()
	if err != nil {
		return err
	}
	if whole {
		return b.Home.RemoveJournal(b.Name())
	}
	return fault.New(fault.PreflightFailed, "%s of box %q was cut off at %q", j.Operation, b.Name(), j.Step).
		Hint("hermes-box destroy --force ends it")
}

// whole reports whether both the VM and the data disk of the box exist. It does not ask Lima, which may hang and counts
// an incomplete VM as a VM.
func (b *Box) whole() (bool, error) {
	if b.Record == nil {
		return false, nil
	}
	return b.Lima.Whole(b.Record.Instance, b.Record.Disk)
}

// undoCreate recovers a create: it removes what the journal names.
func (b *Box) undoCreate(ctx context.Context, j *store.Journal, next Operation, sink Sink) error {
	rec, err := b.Home.Record(b.Name())
	if errors.Is(err, store.ErrNoBox) { // it was cut off before it had made anything
		b.Record, b.leftovers = nil, &Destroyed{Unfinished: true}
		return b.recovered(next, sink)
	}
	if err != nil {
		return err
	}
	if rec.Ready { // all was done but the removal of the journal
		b.Record = rec
		return b.Home.RemoveJournal(b.Name())
	}
	removed := &Destroyed{Unfinished: true}
	for _, what := range slices.Backward(j.Made) {
		if err := b.removeMade(ctx, what, rec); err != nil {
			return fmt.Errorf("undo the create that was cut off: %w", err)
		}
		switch what {
		case madeVM:
			removed.Instance = rec.Instance
		case madeDisk:
			removed.Disk = rec.Disk
		}
	}
	b.Record, b.leftovers = nil, removed
	if err := b.Home.RemoveRecord(b.Name()); err != nil {
		return err
	}
	return b.recovered(next, sink)
}

// recovered removes the journal of a create that was undone, and says so.
func (b *Box) recovered(next Operation, sink Sink) error {
	if err := b.Home.RemoveJournal(b.Name()); err != nil {
		return err
	}
	(&stream{operation: next.Name, box: b.Name(), sink: sink}).emit(Event{Kind: Warning, Line: "removed what an interrupted create had left"})
	return nil
}

// The things that a create makes, as its journal names them.
const (
	madeRecord = "claim"
	madeDisk   = "disk"
	madeVM     = "vm"
)

// removeMade removes one thing that a journal names as made, by its exact name; it may be gone already.
func (b *Box) removeMade(ctx context.Context, what string, rec *store.Record) error {
	switch what {
	case madeVM:
		return b.deleteVM(ctx, rec.Instance)
	case madeDisk:
		return b.deleteDisk(ctx, rec.Disk)
	}
	return nil
}

// deleteVM removes a VM by its exact name, running or not. It is not shut down first: nothing in it is kept.
func (b *Box) deleteVM(ctx context.Context, name string) error {
	_, err := b.Lima.Instance(ctx, name)
	if errors.Is(err, limactl.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.Lima.Kill(ctx, name); err != nil {
		return err
	}
	return b.Lima.Delete(ctx, name)
}

// deleteDisk removes a data disk by its exact name.
func (b *Box) deleteDisk(ctx context.Context, name string) error {
	err := b.Lima.DeleteDisk(ctx, name)
	if errors.Is(err, limactl.ErrNotFound) {
		return nil
	}
	return err
}
