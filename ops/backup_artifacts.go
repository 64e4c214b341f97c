package ops

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strings"

	"hermes-box/ops/artifact"
	"hermes-box/ops/backup"
	"hermes-box/ops/lock"
)

// keepArtifacts puts the software of a lock into the pool, and returns the artifacts to list in the bundle. If software
// is not on this machine, keepArtifacts only warns: a backup of the data alone is better than none.
func (b *Box) keepArtifacts(ctx context.Context, pool *backup.Pool, previous *backup.Bundle, text string, made *BackupMade, p *Progress) ([]backup.Artifact, error) {
	cache, err := b.openCache()
	if err != nil {
		return nil, err
	}
	all, missing, err := b.artifactsOf(text, cache, previous)
	if err != nil {
		p.Warn("the software of the box is not kept with the backup, because its lock cannot be read: " + err.Error())
		return nil, nil
	}
	for _, a := range all {
		err := pool.KeepArtifact(ctx, a, cachedArtifacts{cache})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !slices.Contains(missing, a.Name) {
			p.Log("software " + a.Name + " is not kept with the backup: " + err.Error())
			missing = append(missing, a.Name)
		}
	}
	if made.Missing = append(made.Missing, missing...); len(missing) > 0 {
		p.Warn("software is not kept with the backup, because it is not on this machine: " + strings.Join(missing, ", ") + "; a restore fetches it")
	}
	return all, nil
}

// artifactsOf returns the artifacts that the text of a lock names; of an image, each of its parts. missing names the
// images whose parts the cache does not know. If previous was made with the same lock, and records all of its artifacts,
// those are returned. previous may be nil.
func (b *Box) artifactsOf(text string, cache *artifact.Cache, previous *backup.Bundle) (all []backup.Artifact, missing []string, err error) {
	l, err := lock.Parse("the applied lock", []byte(text))
	if err != nil {
		return nil, nil, err
	}
	if previous != nil && previous.Lock == text && len(unrecorded(l, previous.Artifacts)) == 0 {
		return previous.Artifacts, nil, nil
	}
	for _, a := range lockArtifacts(l) {
		if !a.IsImage() {
			all = append(all, backup.Artifact{Name: a.Name, Digest: bundleDigest(a.Digest), Size: a.Size})
			continue
		}
		blobs, err := cache.Image(a.Digest)
		if err != nil {
			missing = append(missing, a.Name)
			continue
		}
		manifest := backup.Artifact{Name: a.Name, Digest: bundleDigest(a.Digest), Size: a.Size}
		for _, blob := range blobs {
			manifest.Size -= blob.Size
			all = append(all, backup.Artifact{Name: a.Name, Digest: blob.Digest, Size: blob.Size})
		}
		all = append(all, manifest)
	}
	return all, missing, nil
}

// lockArtifacts returns all artifacts of a lock.
func lockArtifacts(l *lock.Lock) []lock.Artifact {
	return append(imageArtifacts(l), softwareArtifacts(l)...)
}

// unrecorded returns the names of the artifacts of a lock that a bundle does not record.
func unrecorded(l *lock.Lock, recorded []backup.Artifact) (names []string) {
	for _, a := range lockArtifacts(l) {
		if !slices.ContainsFunc(recorded, func(r backup.Artifact) bool { return r.Digest == bundleDigest(a.Digest) }) {
			names = append(names, a.Name)
		}
	}
	return names
}

// cachedArtifacts is the cache for package backup, which writes all digests as <algo>:<hex>.
type cachedArtifacts struct{ cache *artifact.Cache }

// Open opens an artifact that is in the cache, and checks it.
func (c cachedArtifacts) Open(ctx context.Context, digest string) (*os.File, error) {
	return c.cache.Open(ctx, lockDigest(digest))
}

// put stores an artifact of an exported backup in the cache.
func (c cachedArtifacts) put(ctx context.Context, digest string, _ int64, r io.Reader) error {
	return c.cache.Put(ctx, lockDigest(digest), r)
}

// putInto returns a function that stores an artifact of an exported backup in the cache, and keeps it with the backups.
func (c cachedArtifacts) putInto(pool *backup.Pool) backup.PutArtifact {
	return func(ctx context.Context, digest string, size int64, r io.Reader) error {
		if err := c.put(ctx, digest, size, r); err != nil {
			return err
		}
		return pool.KeepArtifact(ctx, backup.Artifact{Name: digest, Digest: digest, Size: size}, c)
	}
}

// bundleDigest returns a digest of a lock in the form that bundles use.
func bundleDigest(digest string) string {
	d, err := lock.ParseDigest(digest)
	if err != nil {
		return digest
	}
	return d.Algo + ":" + d.Hex
}

// lockDigest returns a digest of package backup in the form that locks use. It does not check the digest.
func lockDigest(digest string) string {
	text, ok := strings.CutPrefix(digest, "sha512:")
	raw, err := hex.DecodeString(text)
	if !ok || err != nil {
		return digest
	}
	return "sha512-" + base64.StdEncoding.EncodeToString(raw)
}
