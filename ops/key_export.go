package ops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// KeyExported is the result of ExportKey.
type KeyExported struct {
	Path      string `json:"path"`
	Recipient string `json:"recipient"`
}

// ExportKey writes the identity of the box into a new file of mode 0600, in the format of age. It never replaces a
// file, and refuses terminals and other devices.
func (b *Box) ExportKey(ctx context.Context, path string, sink Sink) (*KeyExported, error) {
	if err := newFile(path, "the identity is secret, and is written", "hermes-box key export", "hermes-box.age-identity"); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	result := &KeyExported{Path: path}
	err = b.changeKey(ctx, sink, func(r *keys.Record) []Step {
		return []Step{{ID: "export", Title: "write the identity", Do: func(ctx context.Context, p *Progress) error {
			identity, err := b.identity(ctx, r)
			if err != nil {
				return err
			}
			err = keys.WriteIdentity(path, r.Ref(), identity.String())
			if errors.Is(err, fs.ErrExist) {
				return exists(path)
			}
			if err != nil {
				return fault.New(fault.ExternalFailed, "write the identity: %w", err).Hint("give a path in a directory that you can write to")
			}
			result.Recipient = r.Recipient
			now := time.Now().UTC()
			r.Exported = &now
			if err := r.Save(b.Home); err != nil { // the exported file is valid even so
				p.Warn("key status will not show that the identity was exported: " + err.Error())
			}
			return nil
		}}}
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// newFile returns an error for a path that cannot be a new file. The other arguments are for the text of the error:
// what is written, by which verb, and a suggested name for the file.
func newFile(path, what, verb, name string) error {
	info, err := os.Stat(path)
	clean := filepath.Clean(path)
	switch {
	case path == "" || path == "-" || strings.HasPrefix(clean, "/dev/fd/") || strings.HasPrefix(clean, "/proc/"),
		err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return fault.New(fault.InvalidInput, "%s only into a new file, not to %q", what, path).
			Hint("to a file on another disk or a USB stick: %s FILE", verb)
	case err == nil && info.IsDir():
		return fault.New(fault.InvalidInput, "%s is a directory", path).
			Hint("to a file in it: %s %s", verb, shellescape.Quote(filepath.Join(path, name)))
	}
	if _, err := os.Lstat(path); err == nil {
		return exists(path)
	}
	if dir := filepath.Dir(clean); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.InvalidInput, "there is no directory %s", dir).Hint("mkdir -p %s", shellescape.Quote(dir))
		}
	}
	return nil
}

func exists(path string) error {
	return fault.New(fault.AlreadyExists, "%s exists already, and is not replaced", path).Hint("give the path of a new file")
}

// changeKey runs the steps of an operation on the key of the box. There must be a record of the key; the box itself may
// be gone.
func (b *Box) changeKey(ctx context.Context, sink Sink, steps func(*keys.Record) []Step) error {
	return b.change(ctx, "key", false, sink, func(context.Context) (Plan, error) {
		r, err := keys.Read(b.Home, b.Name())
		if errors.Is(err, keys.ErrNoKey) {
			err = b.noKey(err)
		}
		if err != nil {
			return Plan{}, err
		}
		return Plan{Steps: steps(r)}, nil
	})
}
