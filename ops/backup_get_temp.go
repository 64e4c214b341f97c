package ops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hermes-box/ops/fault"
)

// getSlots is how many copies can be written into one directory at the same time.
const getSlots = 32

// getMark is a file in each temporary directory of GetFiles, so that no directory of the user is taken for one.
const getMark = "hermes-box backup get"

// getSlot returns the name of a temporary directory of GetFiles. The names are fixed, so that the next run finds what a
// killed one has left.
func getSlot(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf(".hermes-box-get-%d", n))
}

// scratch is a temporary directory. The process that made the directory keeps it locked until it is removed.
type scratch struct {
	path   string
	locked *os.File
}

// sweepGets removes the temporary directories that killed runs of GetFiles have left in dir. Those of other processes
// that are running are locked, and stay. A directory that cannot be removed stays too: it does no harm.
func sweepGets(dir string) {
	for n := range getSlots {
		if s, err := takeScratch(getSlot(dir, n+1)); err == nil {
			s.remove()
		}
	}
}

// takeScratch locks a temporary directory. It is an error if another process holds the lock, or if GetFiles has not
// made the directory.
func takeScratch(path string) (s *scratch, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, err
	}
	// Another process may have removed it between the open and the lock.
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	named, err := os.Lstat(path)
	if err != nil || !os.SameFile(opened, named) {
		return nil, errors.Join(fs.ErrNotExist, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(path, getMark)); err != nil && len(entries) > 0 {
		return nil, err
	}
	return &scratch{path, f}, nil
}

// newScratch makes a temporary directory in dir, with a directory for the copies in it.
func newScratch(dir string) (*scratch, error) {
	for n := range getSlots {
		path := getSlot(dir, n+1)
		if err := os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		s, err := takeScratch(path)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, fs.ErrNotExist): // the sweep of another process was faster
			continue
		case err != nil: // this filesystem has no locks, so no sweep can take it either
			s = &scratch{path: path}
		}
		if err := errors.Join(os.WriteFile(filepath.Join(path, getMark), nil, 0o600), os.Mkdir(s.copies(), 0o700)); err != nil {
			s.remove()
			return nil, err
		}
		return s, nil
	}
	return nil, fault.New(fault.Busy, "%d other copies are being written into %s", getSlots, dir).Hint("wait for them, or give another directory with --to DIR")
}

// copies returns the directory for the copies.
func (s *scratch) copies() string { return filepath.Join(s.path, "copies") }

// remove removes the directory with everything in it. The mark is removed last, so that the next run recognizes what a
// killed one leaves.
func (s *scratch) remove() {
	if removeTree(s.copies()) == nil && os.RemoveAll(filepath.Join(s.path, getMark)) == nil {
		os.Remove(s.path)
	}
	if s.locked != nil {
		s.locked.Close()
	}
}
