package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// content returns n bytes that depend on the seed.
func content(seed uint64, n int) []byte {
	b := make([]byte, n)
	chacha := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	chacha.Read(b)
	return b
}

func sha256Of(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func sha512Of(b []byte) string {
	sum := sha512.Sum512(b)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// artifactOf returns the artifact of data at url.
func artifactOf(name, url string, data []byte) lock.Artifact {
	return lock.Artifact{Name: name, URL: url, Size: int64(len(data)), Digest: sha256Of(data)}
}

// newCache opens a cache in a new directory. A fetch waits only milliseconds between tries.
func newCache(t testing.TB, opts Options) *Cache {
	t.Helper()
	return cacheAt(t, t.TempDir(), opts)
}

func cacheAt(t testing.TB, dir string, opts Options) *Cache {
	t.Helper()
	c, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	c.backoff = time.Millisecond
	return c
}

// fetch fetches artifacts. It fails the test if that fails.
func fetch(t testing.TB, c *Cache, artifacts ...lock.Artifact) {
	t.Helper()
	if err := c.Fetch(t.Context(), artifacts, nil); err != nil {
		t.Fatal(err)
	}
}

// fails fetches one artifact and returns the error. The error must have this code and a hint, and be one line with all
// these words and the name of the artifact. Only the files named in left may remain in the cache.
func fails(t *testing.T, c *Cache, a lock.Artifact, code fault.Code, words []string, left ...string) error {
	t.Helper()
	err := c.Fetch(t.Context(), []lock.Artifact{a}, nil)
	if err == nil {
		t.Fatal("fetched")
	}
	for _, w := range append(words, a.Name) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
	if fault.CodeOf(err) != code || fault.HintOf(err) == "" {
		t.Errorf("code %s, want %s; hint %q; %v", fault.CodeOf(err), code, fault.HintOf(err), err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
	if got := files(t, c.dir); strings.Join(got, " ") != strings.Join(left, " ") {
		t.Errorf("left behind: %q, want %q", got, left)
	}
	return err
}

// files lists the files below dir, sorted.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func partialName(a lock.Artifact) string {
	d, _ := lock.ParseDigest(a.Digest)
	return "partial/" + d.Algo + "-" + d.Hex
}

func objectName(a lock.Artifact) string {
	d, _ := lock.ParseDigest(a.Digest)
	return d.Path()
}

// holds checks that the cache has this content for an artifact.
func holds(t testing.TB, c *Cache, a lock.Artifact, want []byte) {
	t.Helper()
	if !c.Has(a) {
		t.Errorf("%s is not in the cache", a.Name)
	}
	path, err := c.Path(context.Background(), a.Digest)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes that differ from the %d wanted", a.Name, len(got), len(want))
	}
}

// serve answers every request with data, like a file server: with ranges, tags and lengths.
func serve(data []byte, etag string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if etag != "" {
			w.Header().Set("ETag", etag)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

// cutting answers with data, but closes the connection after n bytes of the body. The handler rest answers requests for
// a range.
func cutting(data []byte, n int, rest http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			rest(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data[:n])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}
