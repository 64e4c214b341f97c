// Package store is the state of the host: the files below HERMES_BOX_HOME, the record of each box, the journal of an
// operation in progress, and the lock that lets one operation at a time change a box.
package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/sys/unix"

	"hermes-box/ops/fault"
)

// Home is the state directory of the host, mode 0700.
type Home string

// Open creates the directory if needed, and makes sure that it can be written and that nobody else can read it. A
// directory that holds files but is not a state directory is refused.
func Open(dir string) (Home, error) {
	h := Home(dir)
	if err := Check(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", unwritable(dir, err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", unwritable(dir, err)
	}
	for _, sub := range subdirs {
		err := os.MkdirAll(filepath.Join(dir, sub), 0o700)
		away := Reachable(filepath.Join(dir, sub))
		switch {
		case err == nil || away != nil && sub == "backups": // boxes run without their backups
		case away != nil:
			return "", away
		default:
			return "", unwritable(dir, err)
		}
	}
	// The name is always the same, so that the next process removes the file of a killed one.
	probe := filepath.Join(dir, "locks", ".writable")
	f, err := os.OpenFile(probe, os.O_CREATE|os.O_WRONLY|openFlags, 0o600)
	if err != nil {
		return "", unwritable(dir, err)
	}
	f.Close()
	if err := os.Remove(probe); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have removed it
		return "", unwritable(dir, err)
	}
	return h, nil
}

var subdirs = []string{"boxes", "backups", "artifacts", "locks", "logs", "lima"}

// OpenForced is Open for an operation that must work even if nothing can be written: without space or inodes, in a
// read-only directory, or with a file in place of the directory. It makes directories writable if it can, and ignores
// errors.
func OpenForced(dir string) Home {
	_ = os.Chmod(dir, 0o700)
	for _, sub := range subdirs {
		_ = os.Chmod(filepath.Join(dir, sub), 0o700)
	}
	return Home(dir)
}

// Check returns the error that Open would return, if that can be found out without creating anything.
func Check(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(dir)
		for _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist); _, err = os.Stat(parent) {
			parent = filepath.Dir(parent)
		}
		if err := unix.Access(parent, unix.W_OK|unix.X_OK); err != nil {
			return unwritable(dir, err)
		}
		return nil
	}
	if err != nil {
		return unwritable(dir, err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fault.New(fault.PreflightFailed, "%s belongs to another user (uid %d)", dir, st.Uid).
			Hint("run hermes-box as that user, or set HERMES_BOX_HOME to a directory of your own")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return unwritable(dir, err)
	}
	ours := len(entries) == 0 || len(entries) == 1 && entries[0].Name() == "backups" // copied from another machine, for a restore
	for _, e := range entries {
		ours = ours || e.Name() == "boxes" || e.Name() == "lima" || e.Name() == "artifacts"
	}
	if !ours {
		return fault.New(fault.PreflightFailed, "%s holds other files, and is not a state directory", dir).
			Hint("set HERMES_BOX_HOME to a directory of its own, such as %s", filepath.Join(dir, "hermes-box"))
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return unwritable(dir, err)
	}
	return nil
}

// At returns the home in dir, for reading: nothing is created, and a missing directory counts as an empty one.
func At(dir string) Home { return Home(dir) }

func unwritable(dir string, err error) error {
	e := fault.New(fault.PreflightFailed, "%s cannot be used: %w", dir, err)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return e.Hint("make it writable, or set HERMES_BOX_HOME to another directory")
	}
	if noSpace(err) {
		return e.Hint("free some space there and run the command again: df -h %s", shellescape.Quote(dir))
	}
	return e.Hint("set HERMES_BOX_HOME to a directory on another disk")
}

// noSpace reports whether the disk is full.
func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Lima returns the LIMA_HOME of all boxes.
func (h Home) Lima() string { return filepath.Join(string(h), "lima") }

// Artifacts returns the directory of the artifact cache.
func (h Home) Artifacts() string { return filepath.Join(string(h), "artifacts") }

// Logs returns the log directory of a box.
func (h Home) Logs(box string) string { return filepath.Join(string(h), "logs", box) }

func (h Home) record(box string) string  { return filepath.Join(string(h), "boxes", box+".json") }
func (h Home) journal(box string) string { return filepath.Join(string(h), "boxes", box+".operation") }
func (h Home) seen(box string) string    { return filepath.Join(string(h), "boxes", box+".seen") }
func (h Home) scheduled(box string) string {
	return filepath.Join(string(h), "boxes", box+".scheduled")
}
func (h Home) lock(box string) string { return filepath.Join(string(h), "locks", box+".lock") }

// WriteFile replaces a file atomically: a reader sees the old content or the new, and a crash leaves one of them. It
// writes another file in the same directory, syncs it, renames it and syncs the directory.
func WriteFile(path string, data []byte, mode fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// sweep removes the files that a killed WriteFile left beside this box's files. The caller holds the box's lock, so no
// other process writes such files now, except the last status, which may be lost.
func (h Home) sweep(box string) {
	dir := filepath.Join(string(h), "boxes")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		for _, path := range []string{h.record(box), h.journal(box), h.seen(box), h.scheduled(box)} {
			number, ours := strings.CutPrefix(e.Name(), "."+filepath.Base(path)+"-")
			if _, err := strconv.ParseUint(number, 10, 64); ours && err == nil && e.Type().IsRegular() {
				_ = os.Remove(filepath.Join(dir, e.Name())) // a leftover file does no harm
			}
		}
	}
}

// ReadFile reads a regular file of at most limit bytes; for a larger one, the error wraps ErrTooLarge. A file of
// another kind is not read, since a pipe, for example, may never have a writer.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w than %d KiB", ErrTooLarge, limit>>10)}
	}
	return data, err
}

// ErrTooLarge is the error for a file larger than the limit of its reader.
var ErrTooLarge = errors.New("larger")

var errNotRegular = errors.New("not a regular file")

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// remove deletes one file by its exact name; a missing file is no error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return SyncDir(filepath.Dir(path))
}
