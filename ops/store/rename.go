package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// RenameNew renames a file or directory to a name that does not exist, in the same filesystem, and makes the new name
// durable. If the name exists, the error wraps fs.ErrExist and nothing is changed.
func RenameNew(from, to string) error {
	err := renameNew(from, to)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP):
		// This filesystem cannot do it in one step. Another program could make the name in between.
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
	case err != nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return SyncDir(filepath.Dir(to))
}
