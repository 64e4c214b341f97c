package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hermes-box/ops/store"
)

// Unlist deletes a backup in dir without the key of the pool. A missing backup is no error. The next Sweep removes its
// chunks.
func Unlist(dir, id string) error {
	if _, _, err := ParseID(id); err != nil {
		return err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return store.Reachable(dir)
	}
	return (&Pool{disk: disk{dir: dir}}).unlist(id)
}

// Discard removes the pool in dir, which must list no backup: its key, its chunks and its artifacts. Only files with
// the names that a pool gives them are removed. If there are others, Discard returns an error and keeps the key.
func Discard(ctx context.Context, dir string) error {
	return (&Pool{disk: disk{dir: dir}}).discard(ctx)
}

func (p *Pool) discard(ctx context.Context) error {
	dir := p.disk.dir
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return store.Reachable(dir)
	} else if err != nil {
		return err
	}
	ours := map[string]bool{"chunks": true, "tmp": true, "artifacts": true, keyFile: true, passphraseFile: true, recipientsFile: true}
	for _, e := range entries {
		id, isBundle := strings.CutSuffix(e.Name(), ".age")
		_, _, err := ParseID(id)
		switch {
		case ours[e.Name()]:
		case isBundle && err == nil && e.Type().IsRegular(): // left by an import that was killed before the end
			if listed, err := look(dir, id); err != nil || listed != nil {
				return errors.Join(fmt.Errorf("%s has the backup %s", dir, id), err)
			}
			if err := p.disk.remove(e.Name()); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s has %s, which does not belong there", dir, e.Name())
		}
	}
	if err := p.disk.syncDirs(); err != nil {
		return err
	}
	if err := errors.Join(p.sweepTemp(), p.sweepChunks(ctx, nil), p.sweepArtifacts(ctx, nil)); err != nil {
		return err
	}
	dirs := []string{"artifacts/sha256", "artifacts/sha512", "artifacts", "tmp"}
	for i := range 256 {
		dirs = append(dirs, fmt.Sprintf("chunks/%02x", i))
	}
	for _, name := range append(dirs, "chunks") { // os.Remove removes only empty directories
		if err := p.disk.removeDir(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range []string{keyFile, passphraseFile, recipientsFile} {
		if err := p.disk.remove(name); err != nil {
			return err
		}
	}
	if err := p.disk.removeDir("."); err != nil {
		return err
	}
	above := disk{dir: filepath.Dir(dir)}
	above.touch(".")
	return above.syncDirs()
}
