package ops

import (
	"context"
	"fmt"

	"hermes-box/guest/protocol"
	"hermes-box/internal/spell"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
)

// reliance is the backup that a destroy relies on.
type reliance struct {
	id     string  // of a backup that has everything that is in the box; empty if there is none
	frozen *frozen // while the data disk of a running box is frozen
	after  []Step  // after the removal of the box
}

// made returns what the journal records of the backup.
func (l *reliance) made() []string {
	if l.id == "" {
		return nil
	}
	return []string{madeLast + l.id}
}

// lastBackupSteps returns the steps of the backup before a destroy. If one fails, the box stays.
//
// The backup has two parts, so that programs in the box need not wait for long. The first is a usual backup, which may
// take minutes. It reads only files that have changed, so the chunks that it reuses from earlier backups are read too.
// Then the data disk is frozen, and a second backup copies what programs have written since. The disk stays frozen until
// the VM is killed, so the second backup has everything that was in the box. If this program dies or cannot continue,
// the guest thaws the disk.
func (b *Box) lastBackupSteps(saved *reliance, result *Destroyed) []Step {
	first, last := newBackup(), newBackup()
	steps := b.backupSteps(beforeDestroy, false, first)
	keep := steps[len(steps)-1]
	steps[len(steps)-1] = Step{ID: "check", Title: "read the whole backup", Do: func(ctx context.Context, p *Progress) error {
		if first.ReadBack == first.Chunks {
			return nil // the whole backup was read back just now
		}
		if err := b.readWhole(ctx, &first.Envelope, p); err != nil {
			return fault.New(fault.CodeOf(err), "%w", err).Hint("hermes-box backup --full; hermes-box destroy")
		}
		return nil
	}}
	steps = append(steps, Step{ID: "last", Title: "freeze the data disk, and copy what has changed since", Do: func(ctx context.Context, p *Progress) error {
		previous, err := first.pool.Load(ctx, first.ID)
		if err != nil {
			return err
		}
		defer previous.Close()
		last.pool = first.pool
		meta := backup.Meta{Box: b.Name(), Disk: b.Record.DataUUID, Label: beforeDestroy}
		if err := b.copyData(ctx, previous, meta, protocol.BackupRequest{Hold: true}, last, p); err != nil {
			return fault.New(fault.CodeOf(err), "copy what has changed since: %w", err).Hint("%s", fault.HintOf(err))
		}
		saved.id, saved.frozen = last.ID, last.frozen
		return nil
	}, Changed: func() bool { return saved.frozen != nil }, Undo: func(context.Context) error {
		saved.frozen.release()
		return nil
	}})
	for i, made := range []*BackupMade{first, first, first, last} {
		steps[i].Do = b.savedBefore(steps[i].Do, made, result)
	}
	saved.after = []Step{{ID: keep.ID, Title: keep.Title, Do: func(ctx context.Context, p *Progress) error {
		if err := backup.Unlist(b.Pool(), first.ID); err != nil { // the last backup has everything that is in the first
			p.Warn("backup " + first.ID + " could not be deleted: " + err.Error())
		}
		return keep.Do(ctx, p)
	}}}
	return steps
}

// savedBefore returns a step of the backup before a destroy. Its error says that the box is not destroyed.
func (b *Box) savedBefore(do func(context.Context, *Progress) error, made *BackupMade, result *Destroyed) func(context.Context, *Progress) error {
	without := fmt.Sprintf("to remove box %q and all its data without a backup: hermes-box destroy --force", b.Name())
	return func(ctx context.Context, p *Progress) error {
		err := do(ctx, p)
		switch {
		case err != nil && ctx.Err() == nil:
			hint := without
			if first := fault.HintOf(err); first != "" {
				hint = first + "; " + without
			}
			return fault.New(fault.CodeOf(err), "the box is not destroyed, because its backup failed: %w", err).Hint("%s", hint)
		case err == nil && made.Partial():
			return fault.New(fault.PreflightFailed, "the box is not destroyed, because its backup %s is partial: %s could not be read", made.ID, spell.Count(made.Problems, "file")).
				Hint("to see which: hermes-box backup verify; %s", without)
		}
		if made.ID != "" {
			result.Backup = &made.Envelope
		}
		return err
	}
}
