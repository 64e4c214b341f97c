package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// disk changes a pool's directory.
type disk struct {
	dir    string
	before func(op, path string) error // set by tests: called before each change, which fails if it returns an error

	mu    sync.Mutex
	dirty map[string]bool // directories with names that are not durable yet
}

func (d *disk) check(op, path string) error {
	if d.before == nil {
		return nil
	}
	return d.before(op, path)
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

// temp is a file in tmp/ that gets its name when it is complete.
type temp struct {
	*os.File
	d *disk
}

// create makes a file in tmp/, mode 0600.
func (d *disk) create() (*temp, error) {
	dir := d.path("tmp")
	if err := d.mkdir("tmp"); err != nil {
		return nil, err
	}
	if err := d.check("create", dir); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		return nil, err
	}
	return &temp{f, d}, nil
}

// spool makes a file in tmp/ and removes its name: the file is gone when it is closed, or when the process ends.
func (d *disk) spool() (*temp, error) {
	t, err := d.create()
	if err != nil {
		return nil, err
	}
	if err := os.Remove(t.Name()); err != nil && !os.IsNotExist(err) { // a Sweep of another process may have removed it
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *temp) Write(p []byte) (int, error) {
	if err := t.d.check("write", t.Name()); err != nil {
		n, _ := t.File.Write(p[:len(p)/2]) // as a full disk does
		return n, err
	}
	return t.File.Write(p)
}

// discard removes the file.
func (t *temp) discard() {
	t.Close()
	if t.d.check("remove", t.Name()) == nil {
		_ = os.Remove(t.Name()) // Sweep removes it otherwise
	}
}

// commit syncs the file, closes it and gives it its name in the pool. The name is durable after the next syncDirs.
func (t *temp) commit(name string) (err error) {
	defer func() {
		if err != nil {
			t.discard()
		}
	}()
	if err := t.d.check("sync", name); err != nil {
		return err
	}
	if err := t.Sync(); err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	dir := filepath.Dir(name)
	if err := t.d.mkdir(dir); err != nil {
		return err
	}
	if err := t.d.check("rename", name); err != nil {
		return err
	}
	if err := os.Rename(t.Name(), t.d.path(name)); err != nil {
		return err
	}
	t.d.touch(dir)
	return nil
}

// writeFile replaces a file in the pool atomically and durably.
func (d *disk) writeFile(ctx context.Context, name string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, err := d.create()
	if err != nil {
		return err
	}
	if _, err := t.Write(data); err != nil {
		t.discard()
		return err
	}
	if err := t.commit(name); err != nil {
		return err
	}
	return d.syncDirs()
}

// mkdir makes a directory of the pool, mode 0700, if it is missing.
func (d *disk) mkdir(name string) error {
	path := d.path(name)
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil
	}
	if err := d.check("mkdir", path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for at := name; at != "."; at = filepath.Dir(at) {
		d.touch(filepath.Dir(at))
	}
	return nil
}

// rename gives a file of the pool another name.
func (d *disk) rename(from, to string) error {
	if err := d.check("rename", to); err != nil {
		return err
	}
	if err := os.Rename(d.path(from), d.path(to)); err != nil {
		return err
	}
	d.touch(filepath.Dir(from))
	d.touch(filepath.Dir(to))
	return nil
}

// has reports whether the pool has a file. It returns true if that cannot be known.
func (d *disk) has(name string) bool {
	_, err := os.Lstat(d.path(name))
	return !errors.Is(err, fs.ErrNotExist)
}

// remove deletes one file of the pool; a missing one is no error.
func (d *disk) remove(name string) error {
	if err := d.check("remove", name); err != nil {
		return err
	}
	if err := os.Remove(d.path(name)); err != nil && !os.IsNotExist(err) {
		return err
	}
	d.touch(filepath.Dir(name))
	return nil
}

// removeDir deletes a directory of the pool that must be empty.
func (d *disk) removeDir(name string) error {
	if err := d.check("remove", name); err != nil {
		return err
	}
	return os.Remove(d.path(name))
}

func (d *disk) touch(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirty == nil {
		d.dirty = map[string]bool{}
	}
	d.dirty[dir] = true
}

// syncDirs makes the names that were changed since the last call durable.
func (d *disk) syncDirs() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir := range d.dirty {
		if err := d.check("syncdir", dir); err != nil {
			return err
		}
		f, err := os.Open(d.path(dir))
		if err != nil {
			return err
		}
		err = f.Sync()
		f.Close()
		if err != nil {
			return fmt.Errorf("sync %s: %w", d.path(dir), err)
		}
		delete(d.dirty, dir)
	}
	return nil
}

// readFile reads a regular file of the pool with at most limit bytes.
func (d *disk) readFile(name string, limit int64) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d KiB", f.Name(), limit>>10)
	}
	return data, err
}

// open opens a regular file of the pool.
func (d *disk) open(name string) (*os.File, error) {
	path := d.path(name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("not a regular file")}
	}
	return os.Open(path)
}
