package ops

import (
	"context"
	"errors"

	"hermes-box/limactl"
	"hermes-box/ops/artifact"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Destroyed is the result of destroy: what was removed.
type Destroyed struct {
	Already    bool   `json:"already,omitempty"` // there was no box
	Instance   string `json:"instance,omitempty"`
	Disk       string `json:"disk,omitempty"`
	Unfinished bool   `json:"unfinished,omitempty"` // an interrupted operation had left the parts that were removed
	Operation  string `json:"operation,omitempty"`  // the one that was interrupted: create or restore
	// Cache is the artifact cache, which is kept for the next create, and CacheBytes its size.
	Cache      string `json:"cache,omitempty"`
	CacheBytes int64  `json:"cache_bytes,omitempty"`
	// Key is where the identity of the box still is, because it was kept or could not be removed; nil if none is left. Backups is the directory of the backups that need it.
	Key     *KeyPlace `json:"key,omitempty"`
	Backups string    `json:"backups,omitempty"`
	// KeyMissing says that the key of those backups is missing; nil if it is there, or if its keyring is locked. If the
	// key is missing, Opening says in words what else opens the backups.
	KeyMissing *Advised `json:"key_missing,omitempty"`
	Opening    []string `json:"opening,omitempty"`
	// Backup is the newest good backup, from which the box can be restored; nil if there is none. Removed is the number
	// of backups that were removed.
	Backup  *backup.Envelope `json:"backup,omitempty"`
	Removed int              `json:"backups_removed,omitempty"`
}

// Destroying says how a box is destroyed.
type Destroying struct {
	Force     bool // without a backup
	Backups   bool // remove the backups too, and the key that opens them
	Confirmed bool // the user has typed the name of the box
}

// NameNeeded is the error of Destroy if the user has to type the name of the box first: see Destroying.Confirmed.
type NameNeeded struct{ err *fault.Error }

func (e *NameNeeded) Error() string { return e.err.Error() }

// Unwrap returns the error with its code and hint.
func (e *NameNeeded) Unwrap() error { return e.err }

// Destroy removes the box: its VM and its data disk, by their exact names, and the host's record. A running box is
// backed up first, and stays if that fails. A box that does not run must have a verified backup, and the user has to
// type its name, since what has changed after the backup is lost. With Force no backup is needed. With Backups the user
// has to type the name, no new backup is made, and the backups and their key are removed too. Without it the backups
// and the key stay. Cached artifacts and logs always stay.
func (b *Box) Destroy(ctx context.Context, how Destroying, sink Sink) (*Destroyed, error) {
	if err := b.recordLost(); err != nil { // without the record the VM and the disk would stay, and the backups and the key would go
		return nil, err
	}
	if b.Record == nil && b.noJournal() && !(how.Backups && (b.hasPool() || b.hasKey())) {
		return &Destroyed{Already: true}, nil
	}
	if how.Backups { // before the box is removed
		if err := store.Reachable(b.Pool()); err != nil {
			return nil, err
		}
	}
	if how.Backups && !how.Confirmed {
		return nil, b.nameNeeded(" --backups", "this removes all of box %q: its data, its key, which may open exported files too, and its backups (%s)", b.Name(), b.backupsText())
	}
	result, saved := &Destroyed{}, &reliance{}
	defer func() { saved.frozen.release() }()
	err := b.change(ctx, "destroy", how.Force, sink, func(ctx context.Context) (Plan, error) {
		if b.Record == nil { // recovery has undone a create, or only the journal of an earlier destroy was left
			if b.leftovers != nil {
				*result = *b.leftovers
			}
			if how.Backups {
				return Plan{Steps: b.removeBackups(result)}, b.Home.RemoveJournal(b.Name())
			}
			return Plan{}, b.Home.RemoveJournal(b.Name())
		}
		result.Instance, result.Disk = b.Record.Instance, b.Record.Disk
		if how.Force || how.Backups {
			return Plan{Steps: b.destroySteps(how.Backups, saved, result)}, nil
		}
		steps, err := b.backupBefore(ctx, how.Confirmed, saved, result)
		if err != nil {
			return Plan{}, err
		}
		return Plan{Steps: append(steps, b.destroySteps(false, saved, result)...)}, nil
	})
	if err != nil {
		return nil, err
	}
	result.Cache, result.CacheBytes = b.Home.Artifacts(), artifact.Size(b.Home.Artifacts())
	return result, nil
}

// destroySteps returns the steps that remove the box.
func (b *Box) destroySteps(backups bool, saved *reliance, result *Destroyed) []Step {
	rec := b.Record
	// If the step "vm" fails: removed is false if nothing was removed, and stopped is true if the VM was only stopped.
	removed, stopped := true, false
	steps := []Step{
		{ID: "vm", Title: "remove the VM", Do: func(ctx context.Context, _ *Progress) error {
			was := b.Lima.Peek(rec.Instance)
			// Errors are ignored: on a full disk no journal can be written, and destroy must still work. It can be run
			// again without a journal.
			_ = b.journal.begin(append([]string{madeDisk, madeVM}, saved.made()...)...)
			err := saved.frozen.check()
			if err == nil && saved.frozen != nil { // first of all: deleteVM would wait for limactl
				err = b.Lima.Kill(ctx, rec.Instance)
			}
			if err == nil {
				err = b.deleteVM(ctx, rec.Instance)
			}
			if err != nil && b.keepWhole(ctx) == nil {
				removed, stopped = false, was != limactl.Stopped && b.Lima.Peek(rec.Instance) == limactl.Stopped
			}
			return err
		}, Stays: func() string {
			if stopped {
				return "the VM is stopped, but nothing is removed; to start it: hermes-box start"
			}
			return ""
		}, Changed: func() bool { return removed }, Undo: b.keepWhole},
		{ID: "disk", Title: "remove the data disk", Do: func(ctx context.Context, _ *Progress) error { return b.deleteDisk(ctx, rec.Disk) }},
	}
	steps = append(steps, saved.after...)
	if backups {
		steps = append(steps, b.removeBackups(result)...)
	} else {
		steps = append(steps, b.keyStep("look at the key of the backups", false, result))
	}
	return append(steps, Step{ID: "forget", Title: "forget the box", Do: func(ctx context.Context, p *Progress) error {
		b.timerOff(ctx, p)
		return b.forget()
	}})
}

func (b *Box) keyStep(title string, remove bool, result *Destroyed) Step {
	return Step{ID: "key", Title: title, Do: func(ctx context.Context, p *Progress) error {
		b.destroyKey(ctx, p, remove, result)
		return nil
	}}
}

// removeBackups returns the steps that remove the backups, and then the key that opens them.
func (b *Box) removeBackups(result *Destroyed) []Step {
	return []Step{
		{ID: "backups", Title: "remove the backups", Do: func(ctx context.Context, p *Progress) error {
			list, _ := backup.List(b.Pool()) // only to count them
			if err := backup.Remove(ctx, b.Pool()); err != nil {
				return err
			}
			if result.Removed = len(list); b.hasPool() {
				p.Warn("other files in " + b.Pool() + " are left, and so is the key")
			}
			return nil
		}},
		b.keyStep("remove the key", true, result),
	}
}

// keepWhole undoes a destroy that has removed nothing, by removing its journal. It fails if the destroy has removed
// something.
func (b *Box) keepWhole(context.Context) error {
	whole, err := b.whole()
	if err != nil {
		return err
	}
	if !whole {
		return fault.New(fault.PreflightFailed, "part of box %q is already removed", b.Name()).Hint("%s", b.finishDestroy())
	}
	return b.Home.RemoveJournal(b.Name())
}

// finishDestroy returns the hint for a destroy that was cut off. The command in it has --force only if the data disk is
// left and no complete backup of it exists.
func (b *Box) finishDestroy() string {
	if b.Record == nil || !b.Lima.HasDisk(b.Record.Disk) {
		return "to finish it: hermes-box destroy"
	}
	list, _ := b.Backups()
	for _, e := range list {
		if b.canReplace(&e) {
			return "to finish it: hermes-box destroy"
		}
	}
	return "to finish it: hermes-box destroy --force"
}

// cutDestroy returns the journal of a destroy that was cut off after it had removed something; nil if there is none.
func (b *Box) cutDestroy() *store.Journal {
	j, err := b.Home.Journal(b.Name())
	if err != nil || j == nil || j.Operation != "destroy" {
		return nil
	}
	if whole, err := b.whole(); whole || err != nil {
		return nil
	}
	return j
}

func (b *Box) forget() error {
	b.Record = nil
	return errors.Join(b.Home.RemoveRecord(b.Name()), b.Home.RemoveJournal(b.Name()))
}

func (b *Box) noJournal() bool {
	j, err := b.Home.Journal(b.Name())
	return err == nil && j == nil
}
