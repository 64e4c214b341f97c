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

// recover finishes or undoes what an earlier operation left half done when its process died. It runs with the
// box's lock held, before anything else.
//
// A create is undone: what its journal names is removed. A destroy that has removed nothing yet is forgotten; one
// that has is ended by another destroy alone: no other command deletes what is left of the data. What was removed is
// in b.leftovers, and a warning in the stream says so.
func (b *Box) recover(ctx context.Context, operation string, sink Sink) error {
	j, err := b.Home.Journal(b.Name())
	if err != nil || j == nil {
		return err
	}
	switch {
	case j.Operation == "create":
		if err := b.undoCreate(ctx, j); err != nil || b.leftovers == nil {
			return err
		}
		(&stream{operation: operation, box: b.Name(), sink: sink}).emit(Event{Kind: Warning, Line: "removed what an interrupted create had left"})
		return nil
	case operation == j.Operation:
		return nil // it goes over the same ground again
	case b.Record == nil:
		return b.Home.RemoveJournal(b.Name()) // only its end was missing
	}
	whole, err := b.whole()
	if err != nil {
		return err
	}
	if whole {
		return b.Home.RemoveJournal(b.Name())
	}
	return fault.New(fault.PreflightFailed, "%s of box %q was cut off at %q", j.Operation, b.Name(), j.Step).
		Hint("hermes-box %s --force ends it", j.Operation)
}

// whole is whether both the VM and the data disk of the box are there. Lima is not asked: it may hang, and it takes
// half a VM for one.
func (b *Box) whole() (bool, error) {
	if b.Record == nil {
		return false, nil
	}
	return b.Lima.Whole(b.Record.Instance, b.Record.Disk)
}

func (b *Box) undoCreate(ctx context.Context, j *store.Journal) error {
	rec, err := b.Home.Record(b.Name())
	if errors.Is(err, store.ErrNoBox) {
		b.Record, b.leftovers = nil, &Destroyed{Unfinished: true}
		return b.Home.RemoveJournal(b.Name()) // nothing but the claim had been begun
	}
	if err != nil {
		return err
	}
	if rec.Ready { // only the end of the journal was missing
		b.Record = rec
		return b.Home.RemoveJournal(b.Name())
	}
	left := &Destroyed{Unfinished: true}
	for i := len(j.Made) - 1; i >= 0; i-- {
		if err := b.removeMade(ctx, j.Made[i], rec, j); err != nil {
			return fmt.Errorf("undo the create that was cut off: %w", err)
		}
		switch j.Made[i] {
		case "vm":
			left.Instance = rec.Instance
		case "disk":
			left.Disk = rec.Disk
		}
	}
	b.Record, b.leftovers = nil, left
	return errors.Join(b.Home.RemoveRecord(b.Name()), b.Home.RemoveJournal(b.Name()))
}

// removeMade removes one thing that an operation has noted in its journal as made, by its exact name; gone
// already is fine, not noted is not touched.
func (b *Box) removeMade(ctx context.Context, what string, rec *store.Record, j *store.Journal) error {
	if j == nil || rec == nil || !slices.Contains(j.Made, what) {
		return nil
	}
	switch what {
	case "vm":
		return b.deleteVM(ctx, rec.Instance)
	case "disk":
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
