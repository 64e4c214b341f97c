package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a directory of a guest that belongs to a user.
type Dir struct {
	Path string // in the guest
	UID  int    // and GID
	Mode fs.FileMode
}

// Chowner sets the owner of one path. It does not follow links.
type Chowner interface {
	Chown(path string, uid, gid int) error
}

// MakeDir makes a directory with its owner and mode under another name and then renames it. It does not change an
// existing directory.
func (t Tree) MakeDir(d Dir, owner Chowner) (made bool, err error) {
	path := t.Path(d.Path)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := t.RemoveBeside(path); err != nil {
		return false, err
	}
	beside := Beside(path)
	if err := os.Mkdir(beside, d.Mode); err != nil {
		return false, err
	}
	t.Did("make " + filepath.Base(beside))
	if err := errors.Join(os.Chmod(beside, d.Mode), owner.Chown(beside, d.UID, d.UID)); err != nil {
		return false, errors.Join(err, os.Remove(beside))
	}
	return true, t.Rename(beside, path)
}

// Seed writes a file into d, unless something has that name already. The file belongs to the user of d. Seed follows no
// link out of the directory.
func (t Tree) Seed(d Dir, name string, data []byte, mode fs.FileMode, owner Chowner) error {
	root, err := os.OpenRoot(t.Path(d.Path))
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	return t.writeIn(root, d, name, data, mode, owner)
}

// Replace replaces a file in d. The new file belongs to the user of d. A link of that name is replaced, not followed.
func (t Tree) Replace(d Dir, name string, data []byte, mode fs.FileMode, owner Chowner) error {
	root, err := os.OpenRoot(t.Path(d.Path))
	if err != nil {
		return err
	}
	defer root.Close()
	return t.writeIn(root, d, name, data, mode, owner)
}

func (t Tree) writeIn(root *os.Root, d Dir, name string, data []byte, mode fs.FileMode, owner Chowner) error {
	beside := name + ".new"
	if err := root.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	path := t.Path(d.Path, name)
	if err := owner.Chown(path+".new", d.UID, d.UID); err != nil {
		return err
	}
	if err := root.Rename(beside, name); err != nil {
		return err
	}
	t.Did("write in " + name)
	return SyncDir(filepath.Dir(path))
}
