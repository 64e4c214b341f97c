package ops

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
)

// Backups returns the listed backups of the box, newest first. It needs no key and no box.
func (b *Box) Backups() ([]backup.Envelope, error) {
	list, err := backup.List(b.Pool())
	slices.Reverse(list)
	return list, err
}

// Lasts returns how many more backups can be made before backup.keep deletes each backup in a list of Backups, by its id:
// 1 means that the next one deletes it. A backup that stays until it is deleted by hand is not in the result. A new box
// has a disk of its own, so without a box no backup counts down.
func (b *Box) Lasts(list []backup.Envelope) map[string]int {
	disk := "none" // which is the UUID of no disk
	if b.Record != nil {
		disk = b.Record.DataUUID
	}
	return backup.Lasts(list, b.Config.Backup.Keep, disk)
}

// KeptBackup names a good backup of a box.
type KeptBackup struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"` // when it was made
}

// kept returns the newest good backup of the box; nil if there is none. A backup that cannot be read is not good.
func (b *Box) kept() (*KeptBackup, error) {
	list, err := b.Backups()
	for _, e := range list {
		if e.Good() {
			return &KeptBackup{e.ID, e.Time}, nil
		}
	}
	return nil, err
}

// made reports whether the box exists and was finished.
func (b *Box) made() bool { return b.Record != nil && b.Record.Ready }

// Latest is what a user gives for the newest listed backup.
const Latest = "latest"

// backupNamed returns the id of the listed backup that the user means: by its id, by a beginning of the id that no
// other backup has, by a label that no other backup has, or by Latest.
func (b *Box) backupNamed(given string) (string, error) {
	list, err := b.Backups()
	if err != nil {
		return "", err
	}
	if given == Latest {
		return b.newest(list)
	}
	var found []string
	for _, e := range list {
		if e.ID == given {
			return given, nil
		}
		if given != "" && strings.HasPrefix(e.ID, given) {
			found = append(found, e.ID)
		}
	}
	if len(found) == 0 {
		for _, e := range list {
			if _, label, err := backup.ParseID(e.ID); err == nil && given != "" && label == given {
				found = append(found, e.ID)
			}
		}
		if len(found) > 1 {
			return "", fault.New(fault.InvalidInput, "more than one backup has the label %q: %s", given, strings.Join(found, ", ")).
				Hint("give an id")
		}
	}
	switch len(found) {
	case 0:
		return "", fault.New(fault.NotFound, "there is no backup %q", given).Hint("hermes-box backup list")
	case 1:
		return found[0], nil
	}
	return "", fault.New(fault.InvalidInput, "%q is the beginning of more than one backup: %s", given, strings.Join(found, ", ")).
		Hint("give more of the id")
}

// WrongClock says why the newest backup may not be the one that a user means who gives Latest or nothing: the times of the
// backups cannot be right. It returns "" if they can, or if the user gives an id.
func (b *Box) WrongClock(given string) string {
	if given != "" && given != Latest {
		return ""
	}
	list, _ := b.Backups() // without the list the command fails anyway
	return backup.WrongClock(list, time.Now())
}

// ClockAdvice says what to do about WrongClock.
const ClockAdvice = "give commands an id instead of latest; if the clock of this machine is right now, make a new backup, and delete the ones with later times when you no longer need them"

// checkBackupTimes warns if the times of the backups cannot be right.
func (b *Box) checkBackupTimes(context.Context) Check {
	if wrong := b.WrongClock(Latest); wrong != "" {
		return warn(wrong+"; "+ClockAdvice, "date; hermes-box backup list")
	}
	return pass("in order")
}

func (b *Box) newest(list []backup.Envelope) (string, error) {
	if len(list) == 0 {
		none := fault.New(fault.NotFound, "box %q has no backup", b.Name())
		if !b.made() {
			return "", none.Hint("to create the box: hermes-box create; %s", restoreFileHint)
		}
		return "", none.Hint("hermes-box backup")
	}
	return list[0].ID, nil
}

// BackupShown is the content of a backup.
type BackupShown struct {
	ID    string       `json:"id"`
	Lock  string       `json:"lock"` // the text of the lock that was applied
	Files []BackupFile `json:"files"`
}

// BackupFile is one file in a backup.
type BackupFile struct {
	Name   string    `json:"name"` // bytes that are no UTF-8 are replaced
	Path   []byte    `json:"path"`
	Type   tree.Type `json:"type"`
	Mode   uint32    `json:"mode"`
	Size   int64     `json:"size"`
	MTime  int64     `json:"mtime"` // nanoseconds since 1970
	Digest string    `json:"digest,omitempty"`
	Target []byte    `json:"target,omitempty"` // of a symlink
	Link   []byte    `json:"link,omitempty"`   // path of the earlier file that this is a hard link to
}

// ShowBackup lists the content of a backup. Like every operation on a backup, it takes an id, the beginning of an id
// that no other backup has, or Latest.
func (b *Box) ShowBackup(ctx context.Context, given string) (*BackupShown, error) {
	id, err := b.backupNamed(given)
	if err != nil {
		return nil, err
	}
	pool, err := b.OpenPool(ctx)
	if err != nil {
		return nil, err
	}
	bundle, err := pool.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	defer bundle.Close()
	shown := &BackupShown{ID: id, Lock: bundle.Header.Lock, Files: []BackupFile{}}
	err = bundle.Each(func(e *tree.Entry) error {
		shown.Files = append(shown.Files, BackupFile{strings.ToValidUTF8(string(e.Path), "\uFFFD"), e.Path, e.Type, e.Mode, e.Size, e.MTime, e.Digest, e.Target, e.Link})
		return nil
	})
	return shown, err
}

// VerifyBackup reads a whole backup from the disk and compares each file with its digest. If given is empty, it reads
// the newest. The envelope records the result, so the box's lock is held meanwhile.
func (b *Box) VerifyBackup(ctx context.Context, given string, sink Sink) (*backup.Report, error) {
	id, err := b.backupNamed(cmp.Or(given, Latest))
	if err != nil {
		return nil, err
	}
	var report *backup.Report
	err = b.change(ctx, "backup", false, sink, func(context.Context) (Plan, error) {
		return Plan{Steps: []Step{{ID: "verify", Title: "read backup " + id, Do: func(ctx context.Context, p *Progress) error {
			pool, err := b.OpenPool(ctx)
			if err != nil {
				return err
			}
			total := b.listed(id).Bytes
			if report, err = pool.Verify(ctx, id, func(done int64) { p.Bytes(done, total) }); err != nil {
				return err
			}
			return pool.VerifyArtifacts(ctx, report)
		}}}}, nil
	})
	return report, err
}

// listed returns what is known about a backup without its key; an empty envelope if it is not listed.
func (b *Box) listed(id string) backup.Envelope {
	list, _ := b.Backups()
	for _, e := range list {
		if e.ID == id {
			return e
		}
	}
	return backup.Envelope{}
}

// DeleteBackup deletes a backup, and returns its id. Unless forced, it refuses to delete the last good backup of a data
// disk, and a damaged one from which files can be read while no other backup of its data disk is good. If only one
// other backup would be left, all of that is read first.
func (b *Box) DeleteBackup(ctx context.Context, given string, forced bool, sink Sink) (string, error) {
	id, err := b.backupNamed(given)
	if err != nil {
		return "", err
	}
	return id, b.change(ctx, "backup", false, sink, func(context.Context) (Plan, error) {
		return Plan{Steps: []Step{{ID: "delete", Title: "delete backup " + id, Do: func(ctx context.Context, p *Progress) error {
			pool, err := b.OpenPool(ctx)
			if err != nil {
				return err
			}
			disk := b.listed(id).Disk
			err = pool.Delete(ctx, id, forced, func(e *backup.Envelope) func(int64) {
				p.Log("reading all of backup " + e.ID + " first")
				return func(done int64) { p.Bytes(done, e.Bytes) }
			})
			switch {
			case errors.Is(err, backup.ErrKept): // the backup is deleted, but none of its chunks
				p.Warn(err.Error())
				return nil
			case fault.CodeOf(err) == fault.PreflightFailed && !b.made(): // nothing can make another one
				return fault.New(fault.PreflightFailed, "%w, and box %q does not exist", err, b.Name()).Hint("%s", fault.HintOf(err))
			case fault.CodeOf(err) == fault.PreflightFailed && disk != "" && disk == b.Record.DataUUID:
				return fault.New(fault.PreflightFailed, "%w", err).Hint("to make another one first: hermes-box backup; %s", fault.HintOf(err))
			}
			return err
		}}}}, nil
	})
}

// deletedMeanwhile returns the error for a backup that is no longer listed, because another process has deleted it while
// it was read; otherwise it returns err. An export and a copy do not hold the lock of the box.
func (b *Box) deletedMeanwhile(ctx context.Context, id string, err error) error {
	list, listErr := b.Backups()
	if ctx.Err() != nil || listErr != nil || slices.ContainsFunc(list, func(e backup.Envelope) bool { return e.ID == id }) {
		return err
	}
	return fault.New(fault.NotFound, "the backup %s was deleted while it was read", id).Hint("hermes-box backup list")
}
