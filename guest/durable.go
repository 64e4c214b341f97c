package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// put writes a file durably: beside, synced, renamed, the directory synced. A reader, and whoever comes after
// a crash, sees the old file or the new one whole.
func (g *Guest) put(path string, data []byte, mode fs.FileMode) error {
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
	g.did("write " + filepath.Base(beside))
	return g.rename(beside, path)
}

func (g *Guest) putJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return g.put(path, append(data, '\n'), 0o644)
}

// getJSON decodes a file of our own making; a missing one leaves v alone.
func getJSON(path string, v any) error {
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

// rename moves within one filesystem and syncs the directory of the new name.
func (g *Guest) rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(to)); err != nil {
		return err
	}
	g.did("rename to " + filepath.Base(to))
	return nil
}

// swapLink makes link point to target in one atomic step.
func (g *Guest) swapLink(link, target string) error {
	if old, err := os.Readlink(link); err == nil && old == target {
		return nil
	}
	if err := g.dropHalfLink(link); err != nil {
		return err
	}
	half := besideName(link)
	if err := os.Symlink(target, half); err != nil {
		return err
	}
	g.did("link " + filepath.Base(link))
	return g.rename(half, link)
}

// besideName is where a link or a directory is made before it takes its name: a name that nobody else uses.
func besideName(path string) string {
	return filepath.Join(filepath.Dir(path), ".hermes-box-"+filepath.Base(path))
}

// dropHalfLink removes what a swap that was cut short has left.
func (g *Guest) dropHalfLink(link string) error { return g.remove(besideName(link)) }

// remove deletes exactly the file or link named; it is no error if it is not there.
func (g *Guest) remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	g.did("remove " + filepath.Base(path))
	return syncDir(filepath.Dir(path))
}

// removeTree deletes exactly the directory named and what is in it.
func (g *Guest) removeTree(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	g.did("remove " + filepath.Base(path))
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
