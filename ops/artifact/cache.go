// Package artifact is the content-addressed cache of everything that goes into a box. An object is identified by its
// digest alone, wherever it came from.
//
// Objects are stored at <dir>/sha256/<hex> and <dir>/sha512/<hex>, once they are complete, verified and synced.
// Unfinished downloads are in <dir>/partial, each locked by the process that works on it. A cache directory can serve
// as a mirror of another cache.
package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
	"hermes-box/ops/store"
)

// Options are the settings of a cache. The zero value is ready to use.
type Options struct {
	Mirrors  []string      // directories or base URLs (http, https, file), asked first, for <mirror>/<algo>/<hex>
	Parallel int           // how many objects are fetched at once; 0: 4
	Client   *http.Client  // nil: one that honours the proxy variables of the environment
	Stall    time.Duration // a transfer without a byte for this long is broken off; 0: one minute
}

// Cache is an open cache. It may be used by several goroutines, and the directory by several processes.
type Cache struct {
	dir     string
	mirrors []string
	client  *http.Client
	slots   chan struct{}
	stall   time.Duration
	backoff time.Duration // before the second try; doubled after each try
}

// bufferSize is the number of bytes that are read, hashed and written at a time.
const bufferSize = 1 << 20

// Open opens the cache in dir, and creates the directory if needed.
func Open(dir string, opts Options) (*Cache, error) {
	for _, m := range opts.Mirrors {
		if scheme, _, ok := strings.Cut(m, "://"); ok && scheme != "http" && scheme != "https" && scheme != "file" {
			return nil, fault.New(fault.InvalidInput, "mirror %s is not a directory or a URL with http, https or file", scrub(m)).
				Hint("give a directory or a URL: --mirror DIR")
		}
	}
	for _, sub := range []string{"sha256", "sha512", "partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fault.New(fault.ExternalFailed, "open artifact cache: %w", err).
				Hint("make it writable: chmod u+rwx %s", shellescape.Quote(dir))
		}
	}
	if err := store.SyncDir(dir); err != nil {
		return nil, fault.New(fault.ExternalFailed, "open artifact cache: %w", err)
	}
	c := &Cache{dir: dir, mirrors: opts.Mirrors, stall: opts.Stall, backoff: time.Second / 2}
	if c.stall <= 0 {
		c.stall = time.Minute
	}
	if opts.Parallel <= 0 {
		opts.Parallel = 4
	}
	c.slots = make(chan struct{}, opts.Parallel)
	c.client = newClient(opts.Client)
	return c, nil
}

// path returns the path of an object.
func (c *Cache) path(d lock.Digest) string { return filepath.Join(c.dir, d.Algo, d.Hex) }

// Has reports whether an artifact is in the cache: for an image, its manifest and every blob. It verifies the manifest,
// but compares only the size of files and blobs; Open and WriteTar verify those.
func (c *Cache) Has(a lock.Artifact) bool {
	if a.IsImage() {
		parts, err := c.Image(a.Digest)
		return err == nil && sumSizes(parts) == a.Size-c.sizeOf(a.Digest)
	}
	return c.sizeOf(a.Digest) == a.Size
}

// sizeOf returns the size of an object, -1 if it is not in the cache.
func (c *Cache) sizeOf(digest string) int64 {
	d, err := lock.ParseDigest(digest)
	if err != nil {
		return -1
	}
	info, err := os.Lstat(c.path(d))
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// Missing returns the artifacts that are not in the cache, each digest once, and the sum of their sizes.
func (c *Cache) Missing(artifacts []lock.Artifact) (missing []lock.Artifact, bytes int64) {
	for _, a := range unique(artifacts) {
		if !c.Has(a) {
			missing = append(missing, a)
			bytes += a.Size
		}
	}
	return missing, bytes
}

// unique keeps the first artifact of each digest.
func unique(artifacts []lock.Artifact) []lock.Artifact {
	seen := map[string]bool{}
	var list []lock.Artifact
	for _, a := range artifacts {
		if !seen[a.Digest] {
			seen[a.Digest] = true
			list = append(list, a)
		}
	}
	return list
}

// Open verifies an object in full and returns the open file, at its start; its Name is the path of the object. A
// corrupt object is moved aside, so that the next Fetch downloads it again, and reported as integrity_failed. A missing
// object is reported as not_found.
func (c *Cache) Open(ctx context.Context, digest string) (*os.File, error) {
	d, f, err := c.open(digest)
	if err != nil {
		return nil, err
	}
	if err := c.verify(ctx, d, f); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("read artifact %s: %w", d, err)
	}
	return f, nil
}

// Path verifies an object as Open does and returns its path, for programs that open it themselves.
func (c *Cache) Path(ctx context.Context, digest string) (string, error) {
	f, err := c.Open(ctx, digest)
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// open opens an object without verifying it.
func (c *Cache) open(digest string) (lock.Digest, *os.File, error) {
	d, err := lock.ParseDigest(digest)
	if err != nil {
		return d, nil, err
	}
	f, err := os.Open(c.path(d))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, nil, fault.New(fault.NotFound, "artifact %s is not in the artifact cache", d).
			Hint("run the command again with network access; it fetches what is missing")
	case err != nil:
		return d, nil, fault.New(fault.ExternalFailed, "read artifact %s: %w", d, err)
	}
	return d, f, nil
}

// verify reads an object to its end and moves it aside if its digest does not match its name.
func (c *Cache) verify(ctx context.Context, d lock.Digest, f *os.File) error {
	h := d.New()
	if _, err := io.CopyBuffer(writeOnly{h}, readOnly{ctx, f}, make([]byte, bufferSize)); err != nil {
		return readFault(ctx, d, err)
	}
	if found := d.Sum(h); found != d {
		return c.corrupt(ctx, d, f, found)
	}
	return nil
}

func readFault(ctx context.Context, d lock.Digest, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx, d.String())
	}
	return fault.New(fault.ExternalFailed, "read artifact %s: %w", d, err).
		Hint("check the disk that holds the artifact cache")
}

// corrupt moves a corrupt object aside and returns the error. It does not move the file if another one has replaced it
// since it was read.
func (c *Cache) corrupt(ctx context.Context, d lock.Digest, f *os.File, found lock.Digest) error {
	e := fault.New(fault.IntegrityFailed, "artifact %s in the artifact cache is damaged: its digest is %s", d, found).
		Hint("run the command again; it downloads the artifact again").
		Detail("expected", d.String()).Detail("found", found.String())
	// Move it even if ctx has ended. The wait is short, since other processes hold this lock only briefly while the
	// object exists.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	p, err := c.lockPartial(ctx, d, true)
	if err != nil {
		return e
	}
	defer p.release()
	read, err := f.Stat()
	if err != nil {
		return e
	}
	now, err := os.Lstat(c.path(d))
	if err != nil || !os.SameFile(read, now) {
		return e // another process has moved or replaced it
	}
	if os.Rename(c.path(d), c.aside(d)) == nil {
		_ = store.SyncDir(filepath.Dir(c.path(d))) // if a crash undoes the rename, the next Open moves the object again
	}
	return e
}

// aside returns the path to which a corrupt object is moved. The object is kept there for inspection until a good one
// is stored or Sweep removes it.
func (c *Cache) aside(d lock.Digest) string {
	return c.partialPath(d) + ".corrupt"
}

// readOnly ends a long read when its context ends.
type readOnly struct {
	ctx context.Context
	r   io.Reader
}

func (r readOnly) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// writeOnly hides all methods but Write: with a ReadFrom method, io.CopyBuffer would not use its buffer.
type writeOnly struct{ io.Writer }
