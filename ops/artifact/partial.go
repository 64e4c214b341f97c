package artifact

import (
	"context"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"hermes-box/ops/lock"
	"hermes-box/ops/store"
)

// partial is the unfinished file of one object. The lock is on the file itself, so that no lock files are left behind.
// Another process may rename or remove the file before this one gets the lock, so lockPartial then checks its name.
type partial struct {
	cache  *Cache
	digest lock.Digest
	file   *os.File
	hash   hash.Hash // of the file, which has size bytes
	size   int64
	mixed  bool // the content came in more than one transfer
}

// lockWait is the time between two tries to lock.
const lockWait = 50 * time.Millisecond

// lockPartial waits for the lock of an object's partial file and returns the file. If the object is in the cache by
// then, it returns nil, unless evenCached is set.
func (c *Cache) lockPartial(ctx context.Context, d lock.Digest, evenCached bool) (*partial, error) {
	for ctx.Err() == nil {
		f, err := os.OpenFile(c.partialPath(d), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
		if err != nil {
			return nil, writeFault(c.dir, err)
		}
		p := &partial{cache: c, digest: d, file: f, hash: d.New()}
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil && p.named():
			if _, err := os.Lstat(c.path(d)); err != nil || evenCached {
				return p, nil
			}
			p.release()
			return nil, nil
		case err == nil: // its last holder has published or removed it
			f.Close()
			continue
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			f.Close()
			return nil, writeFault(c.dir, err)
		}
		f.Close()
		select {
		case <-ctx.Done():
		case <-time.After(lockWait):
		}
	}
	return nil, ctx.Err()
}

func (c *Cache) partialPath(d lock.Digest) string {
	return filepath.Join(c.dir, "partial", d.Algo+"-"+d.Hex)
}

// named reports whether the file still has its name.
func (p *partial) named() bool {
	ours, err := p.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(p.cache.partialPath(p.digest))
	return err == nil && os.SameFile(ours, named)
}

// resume reads and hashes what an earlier run left behind.
func (p *partial) resume(ctx context.Context) error {
	n, err := io.CopyBuffer(writeOnly{p.hash}, readOnly{ctx, p.file}, make([]byte, bufferSize))
	if err != nil {
		return err
	}
	p.size, p.mixed = n, n > 0
	return nil
}

// reset empties the file and the hash.
func (p *partial) reset() error {
	if p.size == 0 {
		return nil
	}
	if err := p.file.Truncate(0); err != nil {
		return writeFault(p.cache.dir, err)
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return writeFault(p.cache.dir, err)
	}
	p.hash.Reset()
	p.size, p.mixed = 0, false
	return nil
}

// Write appends to the file and to the hash.
func (p *partial) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.hash.Write(b[:n])
	p.size += int64(n)
	if err != nil {
		return n, writeFault(p.cache.dir, err)
	}
	return n, nil
}

// publish renames the verified file to its final name. The file and its name are durable when it returns.
func (p *partial) publish() error {
	c, final := p.cache, p.cache.path(p.digest)
	if err := p.file.Sync(); err != nil {
		return writeFault(c.dir, err)
	}
	if err := os.Rename(c.partialPath(p.digest), final); err != nil {
		return writeFault(c.dir, err)
	}
	_ = p.file.Chmod(0o444) // after the rename, since a read-only partial file could not be continued
	if err := store.SyncDir(filepath.Dir(final)); err != nil {
		return writeFault(c.dir, err)
	}
	if err := os.Remove(c.aside(p.digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return writeFault(c.dir, err)
	}
	return nil
}

// release unlocks the file. Content stays for a later run to continue; an empty file is removed.
func (p *partial) release() {
	if info, err := p.file.Stat(); err == nil && info.Size() == 0 {
		p.remove()
	}
	p.file.Close()
}

// remove deletes the partial file. If that fails, the next run continues or replaces it.
func (p *partial) remove() {
	if p.named() {
		_ = os.Remove(p.cache.partialPath(p.digest))
	}
}
