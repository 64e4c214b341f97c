package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"filippo.io/age"
	"golang.org/x/sys/unix"

	"hermes-box/ops/artifact"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
	"hermes-box/ops/lock"
	"hermes-box/ops/store"
)

// BackupExported is the result of ExportBackup.
type BackupExported struct {
	ID         string             `json:"id"`
	Path       string             `json:"path"`
	Size       int64              `json:"size"`
	Recipients []string           `json:"recipients"` // whose identities open the file; empty with a passphrase
	Passphrase bool               `json:"passphrase"`
	Named      []backup.Recipient `json:"-"`        // those recipients, for people
	OnlyKey    bool               `json:"only_key"` // only the key of the box opens the file, and that key was never exported
	Digest     string             `json:"digest"`   // of the manifest, computed again as the file was read back
	Missing    []string           `json:"missing"`  // software of its lock that the file does not have
}

// ExportBackup writes a backup with everything that a restore needs into one new file of mode 0600. The file is
// encrypted to the recipients of the box's backups or, if one is given, with a passphrase; the passphrase of
// AddPassphrase is not used. ExportBackup never replaces a file. The file gets its name after it was read back and
// compared with its digests. ExportBackup does not take the lock of the box.
func (b *Box) ExportBackup(ctx context.Context, given, path, passphrase string, sink Sink) (*BackupExported, error) {
	id, err := b.backupNamed(given)
	if err != nil {
		return nil, err
	}
	if err := newFile(path, "a backup is exported", "hermes-box backup export "+id, id+".hermes-box"); err != nil {
		return nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if passphrase != "" {
		if err := keys.CheckPassphrase(passphrase); err != nil {
			return nil, err
		}
	}
	x := &exporting{Box: b, path: path, passphrase: passphrase, result: &BackupExported{ID: id, Path: path, Recipients: []string{}, Missing: []string{}, Passphrase: passphrase != ""}}
	defer x.close()
	plan := Plan{Operation: "backup", Box: b.Name(), AfterStep: b.AfterStep, Steps: []Step{
		{ID: "open", Title: "open the backup", Do: func(ctx context.Context, _ *Progress) error { return x.open(ctx, id) }},
		{ID: "software", Title: "fetch the software that is not on this machine", Do: x.fetch},
		{ID: "write", Title: "write the file", Do: x.write},
		{ID: "check", Title: "read the file back", Do: x.check},
	}}
	if err := plan.Run(ctx, sink); err != nil {
		return nil, b.deletedMeanwhile(ctx, id, err)
	}
	return x.result, nil
}

// exporting is one run of ExportBackup.
type exporting struct {
	*Box
	path, passphrase string
	pool             *backup.Pool
	bundle           *backup.Bundle
	file             *os.File // locked, beside path; nil once it has its name
	to               []age.Recipient
	own              age.Identity // opens the file
	artifacts        backup.ArtifactCache
	result           *BackupExported
}

func (x *exporting) open(ctx context.Context, id string) (err error) {
	x.sweep()
	if x.pool, err = x.OpenPool(ctx); err != nil {
		return err
	}
	if x.bundle, err = x.pool.Load(ctx, id); err != nil {
		return err
	}
	if x.passphrase == "" {
		for _, r := range x.pool.Recipients() {
			to, err := age.ParseX25519Recipient(r.Recipient)
			if err != nil {
				return err
			}
			x.to, x.result.Recipients, x.result.Named = append(x.to, to), append(x.result.Recipients, r.Recipient), append(x.result.Named, r)
		}
		x.result.OnlyKey = len(x.to) == 1 && x.keyOnlyHere()
		x.own, err = x.Identity(ctx)
		return err
	}
	to, err := age.NewScryptRecipient(x.passphrase)
	if err != nil {
		return err
	}
	if x.PassphraseWork > 0 {
		to.SetWorkFactor(x.PassphraseWork)
	}
	x.to = []age.Recipient{to}
	x.own, err = age.NewScryptIdentity(x.passphrase)
	return err
}

// keyOnlyHere reports whether the key of the box was never exported.
func (b *Box) keyOnlyHere() bool {
	r, err := keys.Read(b.Home, b.Name())
	return err == nil && r.Exported == nil
}

// fetch makes sure that the software of the backup is on this machine.
func (x *exporting) fetch(ctx context.Context, p *Progress) error {
	cache, err := x.openCache()
	if err != nil {
		return err
	}
	x.artifacts = x.pool.Artifacts(cachedArtifacts{cache})
	l, lockErr := lock.Parse("the lock of the backup", []byte(x.bundle.Lock))
	if lockErr == nil {
		x.result.Missing = append(x.result.Missing, unrecorded(l, x.bundle.Artifacts)...)
	}
	var missing []string
	for _, a := range x.bundle.Artifacts {
		f, err := x.artifacts.Open(ctx, a.Digest)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			f.Close()
		} else if !slices.Contains(missing, a.Name) {
			missing = append(missing, a.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err = lockErr; err == nil {
		all := slices.DeleteFunc(lockArtifacts(l), func(a lock.Artifact) bool { return !slices.Contains(missing, a.Name) })
		err = cache.Fetch(ctx, all, func(a artifact.Progress) { p.Bytes(a.AllDone, a.AllTotal) })
	}
	if err != nil && ctx.Err() == nil {
		return fault.New(fault.NotFound, "software of the backup is not on this machine, and cannot be fetched: %s: %w", strings.Join(missing, ", "), err).
			Hint("from a directory that has it: hermes-box backup export %s %s --mirror DIR", x.bundle.ID, shellescape.Quote(x.path))
	}
	return err
}

// errTaken means that another process writes the file.
var errTaken = errors.New("another process writes it")

// take opens the file that is written beside the path, and locks it. Its name is fixed by the path, so that the next
// export to the same path finds what a killed one has left.
func (x *exporting) take(create int) (*os.File, error) {
	beside := filepath.Join(filepath.Dir(x.path), "."+filepath.Base(x.path)+".hermes-box-export")
	f, err := os.OpenFile(beside, os.O_RDWR|create|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	opened, openedErr := f.Stat()
	lockErr := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	// Between the open and the lock, another export may have renamed the file to its final name.
	if named, err := os.Lstat(beside); lockErr != nil || err != nil || openedErr != nil || !opened.Mode().IsRegular() || !os.SameFile(opened, named) {
		f.Close()
		return nil, errTaken
	}
	return f, nil
}

// sweep removes what a killed export to the same path has left.
func (x *exporting) sweep() {
	if f, err := x.take(0); err == nil {
		os.Remove(f.Name())
		f.Close()
	}
}

func (x *exporting) write(ctx context.Context, p *Progress) (err error) {
	f, err := x.take(os.O_CREATE)
	if errors.Is(err, errTaken) {
		return fault.New(fault.Busy, "another export writes %s", x.path).Hint("wait for it, or give another path")
	}
	if err != nil {
		return unwritableExport(err)
	}
	x.file = f
	if err := errors.Join(f.Chmod(0o600), f.Truncate(0)); err != nil {
		return unwritableExport(err)
	}
	out := &counted{w: f, report: func(n int64) { p.Bytes(n, 0) }}
	if err := backup.Export(ctx, x.bundle, out, x.to, x.artifacts); err != nil {
		if out.err != nil && ctx.Err() == nil {
			return unwritableExport(out.err)
		}
		return err
	}
	if err := f.Sync(); err != nil {
		return unwritableExport(err)
	}
	x.result.Size = out.n
	return nil
}

// check reads the file back and gives it its name.
func (x *exporting) check(ctx context.Context, p *Progress) error {
	if _, err := x.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := &counted{r: x.file, report: func(n int64) { p.Bytes(n, x.result.Size) }}
	h, err := x.pool.Examine(ctx, in, x.own)
	if err == nil && (h.ID != x.bundle.ID || h.Summary != x.bundle.Summary) {
		err = fmt.Errorf("it holds backup %s (%s) instead of backup %s (%s)", h.ID, h.Summary, x.bundle.ID, x.bundle.Summary)
	}
	if err != nil {
		return fmt.Errorf("read %s back: %w", x.path, err)
	}
	err = store.RenameNew(x.file.Name(), x.path)
	if errors.Is(err, fs.ErrExist) {
		return exists(x.path)
	}
	if err != nil {
		return unwritableExport(err)
	}
	x.result.Digest = h.Summary.Digest
	x.file.Close()
	x.file = nil
	return nil
}

// close closes everything, and removes the file unless it is complete.
func (x *exporting) close() {
	if x.file != nil {
		os.Remove(x.file.Name())
		x.file.Close()
	}
	if x.bundle != nil {
		x.bundle.Close()
	}
}

func unwritableExport(err error) error {
	return fault.New(fault.ExternalFailed, "write the exported backup: %w", err).
		Hint("give a path in a directory with enough space that you can write to")
}

// counted counts the bytes that pass, and keeps the error of a write.
type counted struct {
	r      io.Reader
	w      io.Writer
	n      int64
	err    error
	report func(n int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.report(c.n)
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.report(c.n)
	if err != nil {
		c.err = err
	}
	return n, err
}
