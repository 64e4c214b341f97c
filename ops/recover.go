package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hermes-box/limactl"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
	"hermes-box/ops/store"
)

// recover finishes or undoes an earlier operation whose process died. It runs with the box's lock held, before a new
// operation begins. If it removes anything, it sets b.leftovers and emits a warning.
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
		return nil // the new destroy removes what is left
	case b.Record == nil:
		return b.Home.RemoveJournal(b.Name()) // everything but the journal was removed
	}
	whole, err := b.whole()
	if err != nil {
		return err
	}
	if whole {
		return b.Home.RemoveJournal(b.Name())
	}
	return fault.New(fault.PreflightFailed, "%s of box %q was cut off at %q", j.Operation, b.Name(), j.Step).
		Hint("%s", b.finishDestroy())
}

// whole reports whether both the VM and the data disk of the box exist. It does not ask Lima, which may hang and counts
// an incomplete VM as a VM.
func (b *Box) whole() (bool, error) {
	if b.Record == nil {
		return false, nil
	}
	return b.Lima.Whole(b.Record.Instance, b.Record.Disk)
}

// undoCreate recovers a create or a restore: it removes what the journal names.
func (b *Box) undoCreate(ctx context.Context, j *store.Journal, next Operation, sink Sink) error {
	rec, err := b.Home.Record(b.Name())
	if errors.Is(err, store.ErrNoBox) { // it was cut off before it had made anything but the key
		b.Record, b.leftovers = nil, &Destroyed{Unfinished: true, Operation: j.Operation}
		return b.recovered(ctx, j, next, sink)
	}
	if err != nil {
		return err
	}
	if rec.Ready { // everything but the removal of the journal was done
		b.Record = rec
		return b.Home.RemoveJournal(b.Name())
	}
	removed := &Destroyed{Unfinished: true, Operation: j.Operation}
	for _, what := range slices.Backward(j.Made) {
		if err := b.removeMade(ctx, what, rec); err != nil {
			return fmt.Errorf("undo the %s that was cut off: %w", j.Operation, err)
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
	return b.recovered(ctx, j, next, sink)
}

// recovered undoes the steps before the one that records the box, removes the journal, and emits a warning. A locked
// keyring is not an error: the key then stays recorded, and the next create uses it or removes it.
func (b *Box) recovered(ctx context.Context, j *store.Journal, next Operation, sink Sink) error {
	events := &stream{operation: next.Name, box: b.Name(), sink: sink}
	if err := b.undoKey(keys.Silent(ctx), j.Made); err != nil {
		events.emit(Event{Kind: Warning, Line: fmt.Sprintf("the key that an interrupted %s made could not be removed: %v", j.Operation, err)})
	}
	if err := b.Home.RemoveJournal(b.Name()); err != nil {
		return err
	}
	events.emit(Event{Kind: Warning, Line: fmt.Sprintf("removed what an interrupted %s had left", j.Operation)})
	return nil
}

// undoKey removes the key that a create or a restore has made, if made names it. Before that it removes the backup that
// a restore has imported, and removes the key from the recipients of the backups.
func (b *Box) undoKey(ctx context.Context, made []string) error {
	for _, what := range made {
		if id, ok := strings.CutPrefix(what, madeBackup); ok {
			if err := backup.Unlist(b.Pool(), id); err != nil {
				return err
			}
		}
	}
	if slices.Contains(made, madePool) {
		if err := backup.Discard(ctx, b.Pool()); err != nil {
			return err
		}
	}
	if slices.Contains(made, madeRecipient) {
		if err := b.leavePool(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(made, madeKey) {
		return b.removeKey(ctx)
	}
	return nil
}

// The things that an operation makes, as its journal names them.
const (
	madeKey       = "key"
	madeRecipient = "recipient" // the key of the new box was added to the recipients of existing backups
	madePool      = "pool"      // the directory of the box's backups
	madeBackup    = "backup "   // a backup that was imported; its id follows
	madeRecord    = "claim"
	madeDisk      = "disk"
	madeVM        = "vm"
	madeLast      = "last backup " // of a destroy: the backup that has everything that was in the box; its id follows
)

// removeMade removes a VM or a data disk that a journal names as made, by its exact name; it may be gone already.
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
