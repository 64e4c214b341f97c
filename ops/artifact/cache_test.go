package artifact

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

var discard = log.New(io.Discard, "", 0)

// stored fetches data into a cache. If change is not nil, it then changes the file on disk, as a failing disk would.
func stored(t *testing.T, c *Cache, data []byte, change func(path string)) lock.Artifact {
	t.Helper()
	from := filepath.Join(t.TempDir(), "from")
	write(t, from, data)
	a := artifactOf("thing", "file://"+from, data)
	fetch(t, c, a)
	if change != nil {
		change(filepath.Join(c.dir, objectName(a)))
	}
	return a
}

func flip(t *testing.T, at int) func(string) {
	return func(path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[at] ^= 1
		os.Remove(path) // the file is read-only
		write(t, path, data)
	}
}

func TestCorruptObjectIsFetchedAgain(t *testing.T) {
	data := content(1, 2<<20)
	for name, change := range map[string]func(string){
		"first byte": flip(t, 0),
		"last byte":  flip(t, len(data)-1),
		"cut":        func(path string) { os.Remove(path); write(t, path, data[:100]) },
		"emptied":    func(path string) { os.Remove(path); write(t, path, nil) },
		"longer":     func(path string) { os.Remove(path); write(t, path, append(data, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCache(t, Options{})
			a := stored(t, c, data, change)
			_, err := c.Path(t.Context(), a.Digest)
			if fault.CodeOf(err) != fault.IntegrityFailed || fault.HintOf(err) == "" || !strings.Contains(err.Error(), a.Digest) {
				t.Fatalf("got %v", err)
			}
			if c.Has(a) {
				t.Error("the corrupt object is still in the cache")
			}
			if got := files(t, c.dir); len(got) != 1 || got[0] != partialName(a)+".corrupt" {
				t.Errorf("files %q", got)
			}
			if _, err := c.Path(t.Context(), a.Digest); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("the second time: %v", err)
			}
			fetch(t, c, a)
			holds(t, c, a, data)
			if got := files(t, c.dir); len(got) != 1 || got[0] != objectName(a) {
				t.Errorf("files %q", got)
			}
		})
	}
}

// Fetch finds and replaces all damaged objects by itself.
func TestFetchReplacesDamagedObjects(t *testing.T) {
	c := newCache(t, Options{})
	first, second := content(1, 1<<20), content(2, 1<<20)
	a := stored(t, c, first, func(path string) { os.Remove(path); write(t, path, first[:5]) })
	b := stored(t, c, second, flip(t, 1000))
	fetch(t, c, a, b)
	holds(t, c, a, first)
	holds(t, c, b, second)
}

func TestSizeInTheLockIsWrong(t *testing.T) {
	c := newCache(t, Options{})
	a := stored(t, c, content(1, 1000), nil)
	a.Size = 999
	fails(t, c, a, fault.IntegrityFailed, []string{"expected 999 bytes, found 1000 with the digest " + a.Digest}, objectName(a))
}

func TestOpenIsAtTheBeginning(t *testing.T) {
	data := content(1, 1000)
	c := newCache(t, Options{})
	a := stored(t, c, data, nil)
	f, err := c.Open(t.Context(), a.Digest)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if f.Name() != filepath.Join(c.dir, objectName(a)) {
		t.Errorf("name %s", f.Name())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Open(ctx, a.Digest); fault.CodeOf(err) != fault.Interrupted {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := c.Open(t.Context(), "sha256:../../etc/passwd"); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("not a digest: %v", err)
	}
}

// A fetch fails if the disk is full. The disk is a real file system of one megabyte.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting needs root: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	data := content(1, 4<<20)
	srv := httptest.NewServer(serve(data, ""))
	defer srv.Close()
	c := cacheAt(t, dir, Options{})
	fails(t, c, artifactOf("thing", srv.URL, data), fault.ExternalFailed, []string{"no space left in the artifact cache " + dir})
}

// A write to a partial file fails if the disk is full. The file is /dev/full, so that the test mounts nothing.
func TestWriteFault(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	c := newCache(t, Options{})
	d, _ := lock.ParseDigest(sha256Of(nil))
	p := &partial{cache: c, digest: d, file: full, hash: d.New()}
	if _, err := p.Write([]byte("x")); !isLocal(err) || !strings.Contains(err.Error(), "no space left") || fault.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	if err := writeFault(c.dir, syscall.EIO); !isLocal(err) || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("got %v", err)
	}
}

// An object that several goroutines fetch at the same time is downloaded once.
func TestSameObjectAtOnce(t *testing.T) {
	data := content(1, 3<<20)
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		serve(data, "")(w, r)
	}))
	defer srv.Close()
	c := newCache(t, Options{Parallel: 8})
	other := cacheAt(t, c.dir, Options{})
	a := artifactOf("thing", srv.URL, data)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			cache := []*Cache{c, other}[i%2]
			if err := cache.Fetch(t.Context(), []lock.Artifact{a}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	holds(t, c, a, data)
	if asked.Load() != 1 {
		t.Errorf("the server was asked %d times, want once", asked.Load())
	}
	if got := files(t, c.dir); len(got) != 1 {
		t.Errorf("files %q", got)
	}
}

// lockPartial never returns a file that another goroutine has removed, and only one goroutine at a time has the lock.
func TestLockOfARemovedFile(t *testing.T) {
	c := newCache(t, Options{})
	d, _ := lock.ParseDigest(sha256Of(nil))
	var holders, rounds atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for rounds.Add(1) < 600 {
				p, err := c.lockPartial(t.Context(), d, false)
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) != 1 || !p.named() {
					t.Error("two goroutines have the lock, or the locked file was removed")
				}
				holders.Add(-1)
				p.remove()
				p.file.Close()
			}
		})
	}
	wg.Wait()
	if got := files(t, c.dir); got != nil {
		t.Errorf("left behind %q", got)
	}
}

// If a good object replaces a corrupt one while a reader still has the corrupt one open, the good one stays.
func TestGoodObjectIsNotMovedAside(t *testing.T) {
	data := content(1, 1000)
	c := newCache(t, Options{})
	a := stored(t, c, data, flip(t, 5))
	d, f, err := c.open(a.Digest)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	os.Remove(c.path(d))
	write(t, c.path(d), data)
	if err := c.verify(t.Context(), d, f); fault.CodeOf(err) != fault.IntegrityFailed {
		t.Errorf("got %v", err)
	}
	holds(t, c, a, data)
}

func TestShown(t *testing.T) {
	u, err := url.Parse("https://me:hunter2@example.org:8443/a%20b/c?sig=hunter2#hunter2")
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(u); got != "https://example.org:8443/a%20b/c" {
		t.Errorf("got %s", got)
	}
	if got := scrub(`Location "https://me:hunter2@example.org/x?sig=hunter2" is odd`); got != `Location "https://example.org/x" is odd` {
		t.Errorf("got %s", got)
	}
}
