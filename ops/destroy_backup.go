package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hermes-box/internal/age"
	"hermes-box/limactl"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
)

// beforeDestroy is the label of the backup that destroy makes.
const beforeDestroy = "before-destroy"

// backupBefore returns the steps that back up a running box before it is destroyed. A box that does not run must have a
// verified backup, and the user must have typed its name; then backupBefore returns a step that reads that backup.
func (b *Box) backupBefore(ctx context.Context, confirmed bool, saved *reliance, result *Destroyed) ([]Step, error) {
	in, err := b.instance(ctx)
	if err != nil {
		return nil, err
	}
	cut := b.cutDestroy()
	switch {
	case cut != nil && gone(in) && !b.Lima.HasDisk(b.Record.Disk):
		return nil, nil // there is no data left to lose
	case in.State == limactl.Starting:
		return nil, fault.New(fault.PreflightFailed, "box %q is starting, and is backed up before it is destroyed", b.Name()).
			Hint("wait for it; to remove box %q and all its data without a backup: hermes-box destroy --force", b.Name())
	case b.Record.Ready && !gone(in) && (in.State == limactl.Running || in.State == limactl.Degraded && !in.Dead):
		return b.lastBackupSteps(saved, result), nil
	}
	newest, err := b.newestBackup(ctx)
	if err != nil {
		return nil, fault.New(fault.PreflightFailed, "box %q is %s, and its backups cannot be opened: %w", b.Name(), in.State, err).
			Hint("hermes-box key status; to remove box %q and all its data without a backup: hermes-box destroy --force", b.Name())
	}
	if newest == nil {
		hint := "to back it up first: hermes-box start; hermes-box destroy"
		if gone(in) {
			hint = "hermes-box backup list"
		}
		return nil, fault.New(fault.PreflightFailed, "box %q is %s and has no verified backup; destroying it loses everything in it", b.Name(), in.State).
			Hint("%s; to remove box %q and all its data without a backup: hermes-box destroy --force", hint, b.Name())
	}
	// finishes is true if the destroy that was cut off made this backup.
	finishes := cut != nil && gone(in) && slices.Contains(cut.Made, madeLast+newest.ID)
	if finishes { // for the journal of this destroy, which may be cut off too
		saved.id = newest.ID
	}
	if !confirmed && !finishes {
		wrong := b.WrongClock(Latest)
		if wrong != "" {
			wrong = "; " + wrong
		}
		return nil, b.nameNeeded("", "box %q is %s, so it cannot be backed up now; its newest verified backup is %s, made %s ago, and what has changed since is lost%s",
			b.Name(), in.State, newest.ID, age.Format(time.Since(newest.Time)), wrong)
	}
	hint := fmt.Sprintf("hermes-box backup list; to remove box %q and all its data without a backup: hermes-box destroy --force", b.Name())
	if !gone(in) {
		hint = "hermes-box start; " + hint
	}
	return []Step{{ID: "check", Title: "read the whole backup " + newest.ID, Do: func(ctx context.Context, p *Progress) error {
		if !finishes {
			p.Warn(fmt.Sprintf("the newest verified backup was made %s ago; what has changed since is lost", age.Format(time.Since(newest.Time))))
		}
		if err := b.readWhole(ctx, newest, p); err != nil {
			return fault.New(fault.CodeOf(err), "the box is not destroyed: %w", err).Hint("%s", hint)
		}
		result.Backup = newest
		return nil
	}}}, nil
}

// readWhole reads a whole backup and compares each file with its digest.
func (b *Box) readWhole(ctx context.Context, e *backup.Envelope, p *Progress) error {
	pool, err := b.OpenPool(ctx)
	if err != nil {
		return err
	}
	_, err = pool.Verify(ctx, e.ID, func(done int64) { p.Bytes(done, e.Bytes) })
	return err
}

// newestBackup returns the newest good and complete backup of the data disk of this box; nil if there is none. Its
// bundle is read; of its chunks, only the names and sizes are checked.
func (b *Box) newestBackup(ctx context.Context) (*backup.Envelope, error) {
	list, err := backup.List(b.Pool())
	if err != nil || len(list) == 0 {
		return nil, err
	}
	pool, err := b.OpenPool(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(list) {
		if b.canReplace(&e) && pool.Sound(ctx, &e) {
			return &e, nil
		}
	}
	return nil, nil
}

// canReplace reports whether a backup is complete and was made of the data disk of this box, not of an earlier box of
// its name or of one on another machine.
func (b *Box) canReplace(e *backup.Envelope) bool {
	return !e.Partial() && e.Disk != "" && e.Disk == b.Record.DataUUID
}

// nameNeeded returns a NameNeeded. flags are the flags of the command besides --confirm.
func (b *Box) nameNeeded(flags, format string, args ...any) error {
	return &NameNeeded{fault.New(fault.PreflightFailed, format, args...).
		Hint("to destroy it all the same: hermes-box destroy%s --confirm %s", flags, b.Name())}
}

// backupsText says how many backups there are.
func (b *Box) backupsText() string {
	list, err := backup.List(b.Pool())
	switch {
	case err != nil:
		return "they cannot be listed"
	case len(list) == 0:
		return "there are none"
	case len(list) == 1:
		return "there is 1"
	}
	return fmt.Sprintf("there are %d, the newest is %s", len(list), list[len(list)-1].ID)
}
