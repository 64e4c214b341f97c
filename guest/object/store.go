// Package object stores the objects that the host has sent, as files named after their digest. It receives them,
// verifies each again before it is used, and unpacks archives.
package object

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// Store is the directory of the received objects. A file <algo>/<hex> in it was complete when it got that name; its
// content is hashed again before each use.
type Store struct{ durable.Tree }

func (s Store) path(digest string) (string, error) {
	name, err := Name(digest)
	if err != nil {
		return "", err
	}
	return s.Path(layout.Objects, name), nil
}

// Digests returns the digests of all objects, as the lock spells them.
func (s Store) Digests() ([]string, error) {
	digests := []string{}
	for _, algo := range []string{"sha256", "sha512"} {
		entries, err := os.ReadDir(s.Path(layout.Objects, algo))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if d, err := digestOf(path.Join(algo, e.Name())); err == nil {
				digests = append(digests, d)
			}
		}
	}
	return digests, nil
}

// Has reports whether all of these objects have been received.
func (s Store) Has(digests ...string) (bool, error) {
	for _, digest := range digests {
		path, err := s.path(digest)
		if err != nil {
			return false, err
		}
		if _, err := os.Lstat(path); os.IsNotExist(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, nil
}

// Open checks an object against its digest and opens it. A damaged object is removed, so that the host sends it again.
func (s Store) Open(ctx context.Context, a protocol.Artifact) (*os.File, error) {
	path, err := s.path(a.Digest)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf("%s (%s) has not been received", a.Name, a.Digest),
			Hint: "run the command again"}
	}
	if err != nil {
		return nil, err
	}
	h, err := newHash(filepath.Base(filepath.Dir(path)))
	if err == nil {
		_, err = io.Copy(h, reader{ctx, f})
	}
	if err == nil && hex.EncodeToString(h.Sum(nil)) != filepath.Base(path) {
		err = &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf("the received %s no longer has the digest %s", a.Name, a.Digest),
			Hint: "the damaged copy was removed: run the command again"}
		err = errors.Join(err, s.Remove(path))
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Link checks an object and gives it a second name: by a hard link or, if that fails, by a copy. The caller must
// not change the file, since it may be the object itself.
func (s Store) Link(ctx context.Context, a protocol.Artifact, path string) error {
	f, err := s.Open(ctx, a)
	if err != nil {
		return err
	}
	defer f.Close()
	if os.Link(f.Name(), path) == nil {
		return nil
	}
	return copyTo(ctx, path, f)
}

// Copy copies a checked object to path.
func (s Store) Copy(ctx context.Context, a protocol.Artifact, path string) error {
	f, err := s.Open(ctx, a)
	if err != nil {
		return err
	}
	defer f.Close()
	return copyTo(ctx, path, f)
}

// Read returns the content of a checked object, cut at 4 MiB.
func (s Store) Read(ctx context.Context, a protocol.Artifact) ([]byte, error) {
	f, err := s.Open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 4<<20))
}

// IsProgram reports whether an object begins like an ELF program. It does not check the digest.
func (s Store) IsProgram(a protocol.Artifact) bool {
	path, err := s.path(a.Digest)
	if err != nil {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	n, _ := io.ReadFull(f, magic)
	return string(magic[:n]) == "\x7fELF"
}

// Clear removes all objects, even those of an abandoned transaction, since the host can send them again. It waits for
// another helper that is receiving objects. If that helper takes too long, Clear removes nothing and returns no error:
// the next Clear removes the objects.
func (s Store) Clear(ctx context.Context) error {
	unlock, err := s.Lock(ctx, layout.ReceiveMutex)
	var busy *protocol.Error
	if errors.As(err, &busy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	return s.RemoveAll(s.Path(layout.Objects))
}

func copyTo(ctx context.Context, path string, r io.Reader) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, reader{ctx, r})
	return errors.Join(err, out.Close())
}

// reader is a Reader that fails when its context has ended.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
