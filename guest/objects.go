package guest

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hermes-box/guest/protocol"
)

// Received objects are files objects/<algo>/<hex>. A name there means the content was whole when it came; it
// is hashed again before it is used.

func newHash(algo string) (hash.Hash, error) {
	switch algo {
	case "sha256":
		return sha256.New(), nil
	case "sha512":
		return sha512.New(), nil
	}
	return nil, fmt.Errorf("unknown digest algorithm %q", algo)
}

// objectName turns "sha256:<hex>" or "sha512-<base64>" into "<algo>/<hex>".
func objectName(digest string) (string, error) {
	if enc, ok := strings.CutPrefix(digest, "sha256:"); ok {
		if sum, err := hex.DecodeString(enc); err == nil && len(sum) == sha256.Size {
			return "sha256/" + hex.EncodeToString(sum), nil
		}
	}
	if enc, ok := strings.CutPrefix(digest, "sha512-"); ok {
		if sum, err := base64.StdEncoding.DecodeString(enc); err == nil && len(sum) == sha512.Size {
			return "sha512/" + hex.EncodeToString(sum), nil
		}
	}
	return "", &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("%q is not a digest", digest),
		Hint: "a digest is sha256:<64 hex> or sha512-<base64>"}
}

// objectDigest is the reverse of objectName; it refuses every other spelling.
func objectDigest(name string) (string, error) {
	algo, enc, _ := strings.Cut(name, "/")
	sum, err := hex.DecodeString(enc)
	if err == nil && hex.EncodeToString(sum) == enc {
		switch {
		case algo == "sha256" && len(sum) == sha256.Size:
			return "sha256:" + enc, nil
		case algo == "sha512" && len(sum) == sha512.Size:
			return "sha512-" + base64.StdEncoding.EncodeToString(sum), nil
		}
	}
	return "", &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("%q is not the name of an object", name),
		Hint: "an object is named sha256/<hex> or sha512/<hex>"}
}

func (g *Guest) objectPath(digest string) (string, error) {
	name, err := objectName(digest)
	if err != nil {
		return "", err
	}
	return g.Path(objectsDir, name), nil
}

// Objects are the digests received and whole, in the spelling of the lock.
func (g *Guest) Objects() ([]string, error) {
	digests := []string{}
	for _, algo := range []string{"sha256", "sha512"} {
		entries, err := os.ReadDir(g.Path(objectsDir, algo))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if d, err := objectDigest(path.Join(algo, e.Name())); err == nil {
				digests = append(digests, d)
			}
		}
	}
	return digests, nil
}

// object opens a received object after hashing it once more; what is read from the file is what was hashed,
// for nothing else writes there. A damaged one is removed, so that the host sends it again.
func (g *Guest) object(ctx context.Context, a protocol.Artifact) (*os.File, error) {
	path, err := g.objectPath(a.Digest)
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
		err = &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf("%s does not have its digest %s any more", a.Name, a.Digest),
			Hint: "it was removed; run the command again: it is sent afresh"}
		err = errors.Join(err, g.remove(path))
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

// linkObject gives a verified object a name at path, without copying where the filesystem allows. The file
// must not be changed.
func (g *Guest) linkObject(ctx context.Context, a protocol.Artifact, path string) error {
	f, err := g.object(ctx, a)
	if err != nil {
		return err
	}
	defer f.Close()
	if os.Link(f.Name(), path) == nil {
		return nil
	}
	return copyTo(ctx, path, f)
}

// copyObject copies a verified object to path.
func (g *Guest) copyObject(ctx context.Context, a protocol.Artifact, path string) error {
	f, err := g.object(ctx, a)
	if err != nil {
		return err
	}
	defer f.Close()
	return copyTo(ctx, path, f)
}

// readObject gives a small verified object whole.
func (g *Guest) readObject(ctx context.Context, a protocol.Artifact) ([]byte, error) {
	f, err := g.object(ctx, a)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 4<<20))
}

// isProgram tells whether an object is an ELF program rather than an archive. It only looks: whoever uses the
// object hashes it.
func (g *Guest) isProgram(a protocol.Artifact) bool {
	path, err := g.objectPath(a.Digest)
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

func copyTo(ctx context.Context, path string, r io.Reader) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, reader{ctx, r})
	return errors.Join(err, out.Close())
}

// reader stops at the end of its context.
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
