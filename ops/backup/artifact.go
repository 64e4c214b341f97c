package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hermes-box/ops/fault"
)

// Artifacts are kept in artifacts/<algo>/<hex>, once for all bundles. They are public, so they are not encrypted. Where
// possible they are hard links to the files of the artifact cache.

// artifactName returns the name of an artifact, in a pool and in an exported file.
func artifactName(digest string) (string, error) {
	algo, hex, ok := strings.Cut(digest, ":")
	if !ok || hashOf(digest) == nil || len(hex) != 2*hashOf(digest).Size() || strings.Trim(hex, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not a digest", digest)
	}
	return exportArtifacts + algo + "/" + hex, nil
}

// HasArtifact reports whether the pool has an artifact. It compares the size only; OpenArtifact checks the digest.
func (p *Pool) HasArtifact(a Artifact) bool {
	name, err := artifactName(a.Digest)
	if err != nil {
		return false
	}
	info, err := os.Lstat(p.disk.path(name))
	return err == nil && info.Mode().IsRegular() && info.Size() == a.Size
}

// KeepArtifact puts an artifact into the pool unless it is there. The artifact comes from a cache, which checks its
// digest. The next Sweep removes artifacts that no listed bundle names.
func (p *Pool) KeepArtifact(ctx context.Context, a Artifact, from ArtifactCache) error {
	name, err := artifactName(a.Digest)
	if err != nil || p.HasArtifact(a) {
		return err
	}
	f, err := from.Open(ctx, a.Digest)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != a.Size {
		return errors.Join(err, fmt.Errorf("the size of artifact %s differs from its lock", a.Name))
	}
	if err := p.disk.remove(name); err != nil {
		return err
	}
	if err := p.disk.mkdir(filepath.Dir(name)); err != nil {
		return err
	}
	if linked, err := p.disk.link(f, name); linked || err != nil {
		return err
	}
	return p.copyArtifact(ctx, a, f, name)
}

// link makes a hard link to an open file; false if this is not possible, as across filesystems.
func (d *disk) link(f *os.File, name string) (bool, error) {
	if err := d.check("link", name); err != nil {
		return false, err
	}
	if os.Link(f.Name(), d.path(name)) != nil {
		return false, nil
	}
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	if linked, err := os.Lstat(d.path(name)); err != nil || !os.SameFile(opened, linked) { // replaced after its digest was checked
		return false, d.remove(name)
	}
	d.touch(filepath.Dir(name))
	return true, nil
}

func (p *Pool) copyArtifact(ctx context.Context, a Artifact, f io.Reader, name string) error {
	t, err := p.disk.create()
	if err != nil {
		return err
	}
	h := hashOf(a.Digest)
	if _, err := io.Copy(io.MultiWriter(t, h), reader{ctx, f}); err != nil {
		t.discard()
		return err
	}
	if found := digestOf(a.Digest, h); found != a.Digest {
		t.discard()
		return fault.New(fault.IntegrityFailed, "artifact %s changed while it was copied: found %s", a.Name, found).Hint("hermes-box backup")
	}
	return t.commit(name)
}

// OpenArtifact opens an artifact of the pool and checks its digest. If it is missing, the error is fs.ErrNotExist.
func (p *Pool) OpenArtifact(ctx context.Context, digest string) (*os.File, error) {
	name, err := artifactName(digest)
	if err != nil {
		return nil, err
	}
	f, err := p.disk.open(name)
	if err != nil {
		return nil, err
	}
	h := hashOf(digest)
	_, err = io.Copy(h, reader{ctx, f})
	if err == nil && digestOf(digest, h) != digest {
		err = fmt.Errorf("%s is %w", f.Name(), errDamaged)
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

// Artifacts returns a cache that opens artifacts in the pool, and in other if they are missing or damaged in the pool.
func (p *Pool) Artifacts(other ArtifactCache) ArtifactCache { return &pooled{p, other} }

type pooled struct {
	p     *Pool
	other ArtifactCache
}

func (c *pooled) Open(ctx context.Context, digest string) (*os.File, error) {
	f, err := c.p.OpenArtifact(ctx, digest)
	if err == nil || ctx.Err() != nil {
		return f, err
	}
	return c.other.Open(ctx, digest)
}

// VerifyArtifacts reads the artifacts of the listed backup that r is about, and adds the result to r. It removes
// damaged ones, so that the next backup stores them again.
func (p *Pool) VerifyArtifacts(ctx context.Context, r *Report) error {
	e, err := p.record(r.ID)
	if err != nil {
		return err
	}
	b, err := p.outline(ctx, e)
	if err != nil {
		return err
	}
	for _, a := range b.Artifacts {
		f, err := p.OpenArtifact(ctx, a.Digest)
		if err == nil {
			f.Close()
			r.Artifacts++
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		why := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			why = "it is missing"
		} else if name, nameErr := artifactName(a.Digest); nameErr == nil && errors.Is(err, errDamaged) {
			why = "it was damaged, and is removed"
			if err := p.disk.remove(name); err != nil {
				why = "it is damaged"
			}
		}
		r.Missing = append(r.Missing, a.Name+": "+why)
	}
	return nil
}

// sweepArtifacts removes the artifacts that are not needed. It leaves files that are not named like artifacts.
func (p *Pool) sweepArtifacts(ctx context.Context, needed map[string]bool) error {
	for _, algo := range []string{"sha256", "sha512"} {
		entries, err := os.ReadDir(p.disk.path(exportArtifacts + algo))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			name, err := artifactName(algo + ":" + e.Name())
			if err != nil || needed[name] {
				continue
			}
			if err := p.disk.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}
