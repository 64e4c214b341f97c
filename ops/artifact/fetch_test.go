package artifact

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

func TestFetchOverHTTPAndFile(t *testing.T) {
	one, two, three := content(1, 3<<20+17), content(2, 1), content(3, 200_000)
	mux := http.NewServeMux()
	mux.Handle("/one", serve(one, `"a"`))
	mux.Handle("/two", serve(two, ""))
	srv := httptest.NewServer(mux)
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "three")
	if err := os.WriteFile(path, three, 0o600); err != nil {
		t.Fatal(err)
	}
	a, b, d := artifactOf("one", srv.URL+"/one", one), artifactOf("two", srv.URL+"/two", two), artifactOf("three", "file://"+path, three)
	b.Digest = sha512Of(two)
	c := newCache(t, Options{})
	all := []lock.Artifact{a, b, d, a}
	if missing, bytes := c.Missing(all); len(missing) != 3 || bytes != a.Size+b.Size+d.Size {
		t.Errorf("missing %v, %d bytes", missing, bytes)
	}

	last := map[string]Progress{}
	err := c.Fetch(t.Context(), all, func(p Progress) {
		if before, ok := last[p.Name]; ok && p.Done < before.Done || p.Done > p.Total || p.AllDone > p.AllTotal {
			t.Errorf("%+v after %+v", p, before)
		}
		last[p.Name] = p
		last["all"] = p
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, c, a, one)
	holds(t, c, b, two)
	holds(t, c, d, three)
	for _, a := range all {
		if p := last[a.Name]; p.Done != a.Size || p.Total != a.Size {
			t.Errorf("last progress %+v", p)
		}
	}
	if p := last["all"]; p.AllDone != a.Size+b.Size+d.Size || p.AllTotal != p.AllDone {
		t.Errorf("last progress %+v", p)
	}
	if got := files(t, c.dir); len(got) != 3 {
		t.Errorf("files %q", got)
	}
	if missing, bytes := c.Missing(all); missing != nil || bytes != 0 {
		t.Errorf("missing %v, %d bytes", missing, bytes)
	}

	// All objects are in the cache now, so no server is asked again.
	srv.Close()
	fetch(t, c, all...)
}

func TestMirrorsComeFirst(t *testing.T) {
	data := content(1, 100_000)
	a := artifactOf("thing", "http://127.0.0.1:1/never", data)
	d, _ := lock.ParseDigest(a.Digest)
	mirror := cacheAt(t, filepath.Join(t.TempDir(), "a mirror"), Options{})
	if err := os.WriteFile(mirror.path(d), data, 0o600); err != nil {
		t.Fatal(err)
	}
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		http.FileServer(http.Dir(mirror.dir)).ServeHTTP(w, r)
	}))
	defer srv.Close()
	empty := t.TempDir()
	for _, mirrors := range [][]string{
		{mirror.dir}, {"file://" + mirror.dir}, {srv.URL}, {srv.URL + "/"}, {empty, srv.URL + "/nothing/here", mirror.dir},
	} {
		c := newCache(t, Options{Mirrors: mirrors})
		fetch(t, c, a)
		holds(t, c, a, data)
	}
	if len(asked) != 3 || asked[0] != "/"+d.Path() || asked[1] != "/"+d.Path() || asked[2] != "/nothing/here/"+d.Path() {
		t.Errorf("asked for %q", asked)
	}
}

func TestBrokenMirrorIsPassedOver(t *testing.T) {
	data := content(1, 100_000)
	good := httptest.NewServer(serve(data, ""))
	defer good.Close()
	a := artifactOf("thing", good.URL, data)
	for name, h := range map[string]http.HandlerFunc{
		"wrong content": serve(content(2, len(data)), ""),
		"too long":      serve(content(2, len(data)+1), ""),
		"server error":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) },
		"cut off":       cutting(content(2, len(data)), 5000, serve(content(2, len(data)), "")),
	} {
		t.Run(name, func(t *testing.T) {
			bad := httptest.NewServer(h)
			defer bad.Close()
			c := newCache(t, Options{Mirrors: []string{bad.URL}})
			fetch(t, c, a)
			holds(t, c, a, data)
		})
	}
	// If no source is left, the error also says what was wrong with the mirror.
	bad := httptest.NewServer(serve(content(2, len(data)), ""))
	defer bad.Close()
	a.URL = "file:///nowhere/thing"
	c := newCache(t, Options{Mirrors: []string{bad.URL}})
	fails(t, c, a, fault.ExternalFailed, []string{bad.URL, sha256Of(content(2, len(data))), "/nowhere/thing: read it: no such file or directory"})
}

func TestParallel(t *testing.T) {
	const n, limit = 12, 3
	var now, most atomic.Int32
	gate := make(chan struct{})
	var once sync.Once
	mux := http.NewServeMux()
	var all []lock.Artifact
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for i := range n {
		data := content(uint64(i), 1000)
		mux.HandleFunc(fmt.Sprintf("/%d", i), func(w http.ResponseWriter, r *http.Request) {
			k := now.Add(1)
			defer now.Add(-1)
			most.Store(max(most.Load(), k))
			if k == limit { // the limit is reached; wait for requests above it
				time.AfterFunc(200*time.Millisecond, func() { once.Do(func() { close(gate) }) })
			}
			<-gate
			w.Write(data)
		})
		all = append(all, artifactOf(fmt.Sprint(i), fmt.Sprintf("%s/%d", srv.URL, i), data))
	}
	c := newCache(t, Options{Parallel: limit})
	fetch(t, c, all...)
	if most.Load() != limit {
		t.Errorf("%d at once", most.Load())
	}
}

func TestOneFailureEndsTheOthers(t *testing.T) {
	data := content(1, 1000)
	arrived := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.Write(data[:10])
		w.(http.Flusher).Flush()
		close(arrived)
		<-r.Context().Done()
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, r *http.Request) {
		<-arrived
		w.WriteHeader(404)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	c := newCache(t, Options{})
	err := c.Fetch(t.Context(), []lock.Artifact{artifactOf("slow", srv.URL+"/slow", data), artifactOf("gone", srv.URL+"/gone", content(2, 10))}, nil)
	if err == nil || fault.CodeOf(err) != fault.ExternalFailed {
		t.Fatalf("got %v", err)
	}
	if want := "artifact gone: " + srv.URL + "/gone: server answered status 404"; err.Error()[:len(want)] != want {
		t.Errorf("got %v", err)
	}
}

func TestCanceledFetchIsContinued(t *testing.T) {
	data := content(1, 2<<20)
	arrived := make(chan struct{})
	var ranges []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) > 1 {
			serve(data, "")(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data[:1<<20])
		w.(http.Flusher).Flush()
		<-arrived
		<-r.Context().Done()
	}))
	defer srv.Close()
	a := artifactOf("thing", srv.URL, data)
	c := newCache(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	err := c.Fetch(ctx, []lock.Artifact{a}, func(p Progress) {
		if p.Done >= 1<<20 {
			once.Do(func() { close(arrived); cancel() })
		}
	})
	if fault.CodeOf(err) != fault.Interrupted || !errors.Is(err, context.Canceled) || fault.HintOf(err) == "" {
		t.Fatalf("got %v (%s)", err, fault.CodeOf(err))
	}
	if got := files(t, c.dir); len(got) != 1 || got[0] != partialName(a) {
		t.Fatalf("left behind %q", got)
	}
	again := cacheAt(t, c.dir, Options{}) // like another process
	fetch(t, again, a)
	holds(t, again, a, data)
	if len(ranges) != 2 || ranges[1] != fmt.Sprintf("bytes=%d-", 1<<20) {
		t.Errorf("asked for %q", ranges)
	}
	if got := files(t, c.dir); len(got) != 1 || got[0] != objectName(a) {
		t.Errorf("files %q", got)
	}
}

func TestCancelBeforeAnything(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := newCache(t, Options{})
	err := c.Fetch(ctx, []lock.Artifact{artifactOf("thing", "http://127.0.0.1:1/", content(1, 5))}, nil)
	if fault.CodeOf(err) != fault.Interrupted {
		t.Errorf("got %v", err)
	}
	if got := files(t, c.dir); got != nil {
		t.Errorf("left behind %q", got)
	}
}

func TestMirrorOfAnotherKind(t *testing.T) {
	_, err := Open(t.TempDir(), Options{Mirrors: []string{"/a/b", "ftp://me:hunter2@example.org/x"}})
	if fault.CodeOf(err) != fault.InvalidInput || !strings.Contains(err.Error(), "ftp://example.org/x") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableCacheDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "artifacts"), Options{}); err == nil || fault.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}
