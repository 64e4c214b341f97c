package artifact

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes-box/ops/lock"
)

func TestSweep(t *testing.T) {
	const week = 7 * 24 * time.Hour
	if err := Sweep(filepath.Join(t.TempDir(), "none"), week); err != nil {
		t.Errorf("a cache that is not there: %v", err)
	}
	c := newCache(t, Options{})
	digest := func(i uint64) lock.Digest {
		d, err := lock.ParseDigest(sha256Of(content(i, 10)))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	old, young, busy := c.partialPath(digest(1)), c.partialPath(digest(2)), c.partialPath(digest(3))
	corrupt, stranger := c.aside(digest(4)), filepath.Join(c.dir, "partial", "sha256-notes.txt")
	for _, path := range []string{old, young, busy, corrupt, stranger} {
		if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
		if path == young {
			continue
		}
		at := time.Now().Add(-week - time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	p, err := c.lockPartial(context.Background(), digest(3), false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	if err := Sweep(c.dir, week); err != nil {
		t.Error(err)
	}
	for path, stays := range map[string]bool{old: false, corrupt: false, young: true, busy: true, stranger: true} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) == stays {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	if n := Size(c.dir); n != 12 {
		t.Errorf("the cache takes %d bytes", n)
	}
}
