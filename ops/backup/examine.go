package backup

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"filippo.io/age"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// Examine reads an exported file to its end, and compares everything in it with its digests. It returns the header of
// the backup in it. Nothing is kept, and no backup is listed.
func (p *Pool) Examine(ctx context.Context, file io.Reader, identities ...age.Identity) (*Header, error) {
	return p.examine(ctx, file, checkArtifact, identities)
}

// ExamineFile is Examine for a machine that has no pool yet. put gets the artifacts.
func ExamineFile(ctx context.Context, file io.Reader, put PutArtifact, identities ...age.Identity) (*Header, error) {
	dir, err := os.MkdirTemp("", "hermes-box-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p := &Pool{disk: disk{dir: dir}, now: time.Now}
	return p.examine(ctx, file, put, identities)
}

func (p *Pool) examine(ctx context.Context, file io.Reader, put PutArtifact, identities []age.Identity) (*Header, error) {
	x, err := p.openExport(ctx, file, put, identities)
	if err != nil {
		return nil, err
	}
	defer x.close()
	if err := x.stream(ctx, func(_ context.Context, in *tree.Reader) error { return checkTree(in, x.h.Summary) }); err != nil {
		return nil, err
	}
	return &x.h, nil
}

// checkArtifact is a PutArtifact that keeps nothing.
func checkArtifact(_ context.Context, digest string, _ int64, r io.Reader) error {
	h := hashOf(digest)
	if h == nil {
		return fmt.Errorf("%q is not a digest", digest)
	}
	if _, err := io.Copy(h, r); err != nil {
		return err
	}
	if found := digestOf(digest, h); found != digest {
		return fault.New(fault.IntegrityFailed, "found %s instead of %s", found, digest)
	}
	return nil
}

// hashOf returns a new hash of the algorithm of an artifact's digest; nil if the algorithm is unknown.
func hashOf(digest string) hash.Hash {
	switch algo, _, _ := strings.Cut(digest, ":"); algo {
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// digestOf returns the sum of a hash in the form of an artifact's digest.
func digestOf(like string, h hash.Hash) string {
	algo, _, _ := strings.Cut(like, ":")
	return algo + ":" + hex.EncodeToString(h.Sum(nil))
}

// checkTree reads a tree to its end. It checks the digest of each file, and compares the whole tree with its summary.
func checkTree(in *tree.Reader, want Summary) error {
	m := newManifest()
	var entry *tree.Entry
	h := sha256.New()
	for {
		record, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch v := record.(type) {
		case *tree.Entry:
			entry = v
			h.Reset()
			_, err = m.addEntry(v)
		case tree.Data:
			h.Write(v)
		case tree.Sum:
			if hex.EncodeToString(h.Sum(nil)) != entry.Digest {
				err = fmt.Errorf("the digest of %q differs from its entry", entry.Path)
			}
		case tree.Problem:
			var raw []byte
			raw, err = json.Marshal(v)
			m.addProblem(raw)
		case tree.Summary:
			if have := m.summary(); have != want {
				err = fmt.Errorf("its files (%s) do not match its summary (%s)", have, want)
			}
		}
		if err != nil {
			return err
		}
	}
}
