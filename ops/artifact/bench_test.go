package artifact

import (
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"hermes-box/ops/lock"
)

// BenchmarkPlain is the baseline of the other benchmarks: it copies bytes from loopback through sha256 into a synced
// file.
func BenchmarkPlain(b *testing.B) {
	srv, size := benchServer(b)
	path := filepath.Join(b.TempDir(), "out")
	b.SetBytes(size)
	for b.Loop() {
		resp, err := http.Get(srv.URL)
		if err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		h := sha256.New()
		if _, err := io.CopyBuffer(io.MultiWriter(h, f), resp.Body, make([]byte, 1<<20)); err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkFetch(b *testing.B) {
	srv, size := benchServer(b)
	a := artifactOf("thing", srv.URL, content(1, int(size)))
	dir := b.TempDir()
	b.SetBytes(size)
	for b.Loop() {
		c := cacheAt(b, dir, Options{})
		fetch(b, c, a)
		if err := os.Remove(filepath.Join(dir, objectName(a))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	c, a := benchObject(b)
	b.SetBytes(a.Size)
	for b.Loop() {
		if _, err := c.Path(b.Context(), a.Digest); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteTar(b *testing.B) {
	c, a := benchObject(b)
	b.SetBytes(a.Size)
	for b.Loop() {
		if err := c.WriteTar(b.Context(), io.Discard, []string{a.Digest}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSHA256(b *testing.B) {
	data := content(1, 64<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		sha256.Sum256(data)
	}
}

func benchObject(b *testing.B) (*Cache, lock.Artifact) {
	srv, size := benchServer(b)
	c := newCache(b, Options{})
	a := artifactOf("thing", srv.URL, content(1, int(size)))
	fetch(b, c, a)
	return c, a
}

func benchServer(b *testing.B) (*httptest.Server, int64) {
	data := content(1, 64<<20)
	srv := httptest.NewServer(serve(data, ""))
	b.Cleanup(srv.Close)
	return srv, int64(len(data))
}
