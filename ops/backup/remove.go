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

// Remove removes all backups in a pool, and then the pool. First it hides the envelopes, so that nothing partial is
// ever listed; last it removes the key. Files that are not the pool's are left, with the directories that they are in.
// A pool that does not exist is no error. Remove needs no key.
func Remove(ctx context.Context, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return store.Reachable(dir)
	}
	p := &Pool{disk: disk{dir: dir}}
	for _, part := range []func() error{
		func() error { return p.eachNamed(envelopeName(""), p.hide) },
		p.disk.syncDirs,
		func() error {
			return p.eachNamed(bundleName(""), func(id string) error { return p.disk.remove(bundleName(id)) })
		},
		p.disk.syncDirs,
		func() error { return p.sweepChunks(ctx, nil) },
		func() error { return p.sweepArtifacts(ctx, nil) },
		p.sweepTemp,
		p.disk.syncDirs,
		func() error { return p.disk.remove(recipientsFile) },
		func() error { return p.disk.remove(passphraseFile) },
		func() error { return p.disk.remove(keyFile) },
	} {
		if err := errors.Join(part(), ctx.Err()); err != nil {
			return fmt.Errorf("remove the backups in %s: %w", dir, err)
		}
	}
	for i := range 256 {
		_ = os.Remove(p.disk.path(fmt.Sprintf("chunks/%02x", i))) // a directory that is not empty stays
	}
	for _, name := range []string{"tmp", "chunks", exportArtifacts + "sha256", exportArtifacts + "sha512", exportArtifacts, "."} {
		_ = os.Remove(p.disk.path(name))
	}
	return store.SyncDir(filepath.Dir(dir))
}

// eachNamed calls do for each file of the pool that is named <id><end>.
func (p *Pool) eachNamed(end string, do func(id string) error) error {
	entries, err := os.ReadDir(p.disk.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), end)
		if _, _, err := ParseID(id); !ok || err != nil {
			continue
		}
		if err := do(id); err != nil {
			return err
		}
	}
	return nil
}
