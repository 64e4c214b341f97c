package ops

import (
	"context"
	"errors"
	"os"

	"al.essio.dev/pkg/shellescape"
	"filippo.io/age"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// BackupImported is the result of ImportBackup.
type BackupImported struct {
	backup.Envelope
	KeyMade *KeyPlace `json:"key_made,omitempty"` // the new key, if the box had none
}

// ImportBackup reads an exported file. It adds the backup in it to the backups of this box, and the artifacts to the
// cache. The file is opened with the identity of the box or one of identities. The backup is listed only after the
// file was read to its end and the backup was read back. A box without a key gets one; the box need not exist.
func (b *Box) ImportBackup(ctx context.Context, path string, identities []age.Identity, sink Sink) (*BackupImported, error) {
	result := &BackupImported{}
	var pool *backup.Pool
	err := b.change(ctx, "backup", false, sink, func(context.Context) (Plan, error) {
		return Plan{Steps: []Step{
			{ID: "key", Title: "open the backups", Do: func(ctx context.Context, p *Progress) error {
				_, err := keys.Read(b.Home, b.Name())
				if errors.Is(err, keys.ErrNoKey) {
					if err := opens(path, identities); err != nil { // before a key is made
						return err
					}
					r, err := b.makeKey(ctx, false, func() error { return nil }, p)
					if err != nil {
						return err
					}
					result.KeyMade = b.place(r)
				}
				if pool, err = b.OpenPool(ctx); err != nil {
					return err
				}
				if err := pool.Sweep(ctx); err != nil {
					p.Warn("what an interrupted backup left could not be removed: " + err.Error())
				}
				return nil
			}},
			{ID: "import", Title: "read the file, and read the backup back", Do: func(ctx context.Context, p *Progress) error {
				envelope, err := b.importBackup(ctx, pool, path, identities, p)
				if err != nil {
					return err
				}
				result.Envelope = *envelope
				return nil
			}},
		}}, nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// importBackup adds the backup in an exported file to the pool. The caller holds the lock of the box.
func (b *Box) importBackup(ctx context.Context, pool *backup.Pool, path string, identities []age.Identity, p *Progress) (*backup.Envelope, error) {
	f, size, err := openExported(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cache, err := b.openCache()
	if err != nil {
		return nil, err
	}
	own, err := b.Identity(ctx)
	if err != nil {
		return nil, err
	}
	in := &counted{r: f, report: func(n int64) { p.Bytes(n, size) }}
	return pool.Import(ctx, in, cachedArtifacts{cache}.putInto(pool), nil, append([]age.Identity{own}, identities...)...)
}

// opens returns an error if no identity opens an exported file.
func opens(path string, identities []age.Identity) error {
	f, _, err := openExported(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = backup.Decrypt(f, identities...)
	return err
}

// NeedsPassphrase reports whether the backup in an exported file is encrypted with a passphrase.
func NeedsPassphrase(path string) (bool, error) {
	f, _, err := openExported(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return backup.ForPassphrase(f), nil
}

// openExported opens an exported file, and returns its size.
func openExported(path string) (*os.File, int64, error) {
	info, err := os.Stat(path) // first: opening a pipe would wait for its writer
	if err == nil && !info.Mode().IsRegular() {
		return nil, 0, fault.New(fault.InvalidInput, "%s is not a regular file", path).Hint("give the file that hermes-box backup export wrote")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err == nil && keys.HoldsKey(f) {
		f.Close()
		return nil, 0, fault.New(fault.InvalidInput, "%s is a file with a key, not an exported backup", path).
			Hint("to restore an exported backup with this key: hermes-box restore FILE --identity %s", shellescape.Quote(path))
	}
	if err != nil {
		return nil, 0, fault.New(fault.InvalidInput, "open the exported backup: %w", err).Hint("ls -l %s", shellescape.Quote(path))
	}
	return f, info.Size(), nil
}
