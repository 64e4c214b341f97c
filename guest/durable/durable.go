// Package durable writes files, links and directories so that a crash at any moment leaves the old one or the new one.
// Each is made under another name in the same directory and renamed; then the directory is synced. A file is synced
// before it is renamed. The package also has the locks that helpers share.
package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Tree is the file system of a guest: the real one, or a directory in place of it.
type Tree struct {
	Root string // the directory that is "/" of the guest

	// After, if set, is called after each durable step, with its name. A durable step is a change that stays if the
	// process dies then. Several goroutines may call After. Only tests set it.
	After func(step string)
}

// Path returns the real path for an absolute path of the guest. Dir.Path and the files of Lock, TryLock and Locked are
// paths of the guest; the other methods take real paths.
func (t Tree) Path(elem ...string) string {
	return filepath.Join(append([]string{t.Root}, elem...)...)
}

// Did calls After with a durable step.
func (t Tree) Did(step string) {
	if t.After != nil {
		t.After(step)
	}
}

// Write replaces a file. After a crash the file is completely the old one or the new one.
func (t Tree) Write(path string, data []byte, mode fs.FileMode) error {
	beside := path + ".new"
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		os.Remove(beside)
		return fmt.Errorf("write %s: %w", path, err)
	}
	t.Did("write " + filepath.Base(beside))
	return t.Rename(beside, path)
}

// WriteJSON replaces a file with v as indented JSON.
func (t Tree) WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return t.Write(path, append(data, '\n'), 0o644)
}

// ReadJSON decodes a JSON file into v. If there is no file, it leaves v as it is.
func ReadJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Rename moves a file, link or directory within one file system and syncs the directory of the new name.
func (t Tree) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if err := SyncDir(filepath.Dir(to)); err != nil {
		return err
	}
	t.Did("rename to " + filepath.Base(to))
	return nil
}

// Symlink makes link point to target, in one atomic step.
func (t Tree) Symlink(target, link string) error {
	if old, err := os.Readlink(link); err == nil && old == target {
		return nil
	}
	if err := t.RemoveBeside(link); err != nil {
		return err
	}
	beside := Beside(link)
	if err := os.Symlink(target, beside); err != nil {
		return err
	}
	t.Did("link " + filepath.Base(link))
	return t.Rename(beside, link)
}

// Beside returns the temporary name that a link or a directory has until it is renamed to path. Nothing else uses such
// a name.
func Beside(path string) string {
	return filepath.Join(filepath.Dir(path), ".hermes-box-"+filepath.Base(path))
}

// RemoveBeside removes the temporary link or empty directory that an interrupted change of path has left.
func (t Tree) RemoveBeside(path string) error { return t.Remove(Beside(path)) }

// Remove removes one file, link or empty directory. A path that does not exist is no error.
func (t Tree) Remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t.Did("remove " + filepath.Base(path))
	return SyncDir(filepath.Dir(path))
}

// RemoveAll removes a directory and everything in it. A path that does not exist is no error.
func (t Tree) RemoveAll(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	t.Did("remove " + filepath.Base(path))
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
