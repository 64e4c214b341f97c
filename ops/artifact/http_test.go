package artifact

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes-box/ops/fault"
)

func TestWrongDigest(t *testing.T) {
	want, other := content(1, 100_000), content(2, 100_000)
	srv := httptest.NewServer(serve(other, ""))
	defer srv.Close()
	a := artifactOf("thing", srv.URL+"/x?token=secret", want)
	err := fails(t, newCache(t, Options{}), a, fault.IntegrityFailed, []string{srv.URL + "/x: expected " + a.Digest + ", found " + sha256Of(other)})
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the query is in %v", err)
	}
	a.Digest = sha512Of(want)
	fails(t, newCache(t, Options{}), a, fault.IntegrityFailed, []string{"expected " + a.Digest + ", found " + sha512Of(other)})
}

func TestWrongLength(t *testing.T) {
	data := content(1, 5_000)
	chunked := func(b []byte) http.HandlerFunc { // without a length
		return func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			w.Write(b)
		}
	}
	for _, c := range []struct {
		name  string
		h     http.HandlerFunc
		code  fault.Code
		words []string
		kept  bool
	}{
		{"longer", serve(append(data, 'x'), ""), fault.IntegrityFailed, []string{"expected 5000 bytes, found 5001 bytes"}, false},
		{"shorter", serve(data[:4999], ""), fault.IntegrityFailed, []string{"expected 5000 bytes, found 4999 bytes"}, false},
		{"longer, no Content-Length", chunked(append(data, 'x')), fault.IntegrityFailed, []string{"expected 5000 bytes, found more"}, false},
		{"shorter, no Content-Length", chunked(data[:4999]), fault.ExternalFailed, []string{"the transfer ended early: expected 5000 bytes, found 4999"}, true},
		{"cut off", cutting(data, 3000, cutting(data, 3000, nil)), fault.ExternalFailed, nil, true},
		{"empty", chunked(nil), fault.ExternalFailed, []string{"expected 5000 bytes, found 0"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "cut off" { // later requests are aborted
				var n atomic.Int32
				h := c.h
				c.h = func(w http.ResponseWriter, r *http.Request) {
					if n.Add(1) > 1 {
						panic(http.ErrAbortHandler)
					}
					h(w, r)
				}
			}
			srv := httptest.NewServer(c.h)
			defer srv.Close()
			a := artifactOf("thing", srv.URL, data)
			var left []string
			if c.kept {
				left = []string{partialName(a)}
			}
			fails(t, newCache(t, Options{}), a, c.code, append(c.words, srv.URL), left...)
		})
	}
}

func TestResumeAfterACutWithinOneFetch(t *testing.T) {
	data := content(1, 3<<20)
	var conditions []string
	whole := func(w http.ResponseWriter, r *http.Request) {
		conditions = append(conditions, r.Header.Get("Range")+" "+r.Header.Get("If-Range"))
		serve(data, `"v1"`)(w, r)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		cutting(data, 1<<20, whole)(w, r)
	}))
	defer srv.Close()
	a := artifactOf("thing", srv.URL, data)
	c := newCache(t, Options{})
	fetch(t, c, a)
	holds(t, c, a, data)
	if len(conditions) != 1 || conditions[0] != fmt.Sprintf("bytes=%d- %q", 1<<20, "v1") {
		t.Errorf("asked for %q", conditions)
	}
}

func TestResumeThatCannotContinue(t *testing.T) {
	data := content(1, 3<<20)
	cut := func(then http.HandlerFunc) http.HandlerFunc { return cutting(data, 1<<20, then) }
	for name, h := range map[string]http.HandlerFunc{
		// The content has changed: If-Range makes the server send all of it.
		"changed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"v1"`)
			cutting(content(2, len(data)), 1<<20, serve(data, `"v2"`))(w, r)
		},
		"no ranges": cut(func(w http.ResponseWriter, r *http.Request) { w.Write(data) }),
		"range refused": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			w.Write(data)
		},
		"another range": cut(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 5-%d/%d", len(data)-1, len(data)))
				w.WriteHeader(http.StatusPartialContent)
				w.Write(data[5:])
				return
			}
		}),
		"no range in the answer": cut(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			w.Write(data[1<<20:])
		}),
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) > 2 { // the server works from the third request on
					serve(data, "")(w, r)
					return
				}
				h(w, r)
			}))
			defer srv.Close()
			a := artifactOf("thing", srv.URL, data)
			c := newCache(t, Options{})
			if name == "range refused" {
				write(t, filepath.Join(c.dir, partialName(a)), data[:100])
			}
			fetch(t, c, a)
			holds(t, c, a, data)
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A partial file may hold anything, for example after a power cut. The fetch still succeeds.
func TestLeftovers(t *testing.T) {
	data := content(1, 2<<20)
	for name, partial := range map[string][]byte{
		"nothing":        {},
		"right half":     data[:1<<20],
		"all":            data,
		"zeroes":         make([]byte, 1<<20),
		"wrong content":  content(2, len(data)),
		"too long":       append(content(3, 10), data...),
		"one bit is off": append([]byte{data[0] ^ 1}, data[1:1<<20]...),
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				serve(data, "")(w, r)
			}))
			defer srv.Close()
			a := artifactOf("thing", srv.URL, data)
			c := newCache(t, Options{})
			write(t, filepath.Join(c.dir, partialName(a)), partial)
			fetch(t, c, a)
			holds(t, c, a, data)
			if got := files(t, c.dir); len(got) != 1 {
				t.Errorf("files %q", got)
			}
			from := filepath.Join(t.TempDir(), "from")
			write(t, from, data)
			b := artifactOf("thing", "file://"+from, data)
			local := newCache(t, Options{})
			write(t, filepath.Join(local.dir, partialName(b)), partial)
			fetch(t, local, b)
			holds(t, local, b, data)
			if want := map[string]int32{"all": 0, "one bit is off": 2, "zeroes": 2}[name]; want != 0 && asked.Load() != want {
				t.Errorf("asked %d times, want %d", asked.Load(), want)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	data := content(1, 1000)
	for _, c := range []struct{ status, asked int }{{404, 1}, {403, 1}, {401, 1}, {410, 1}, {500, tries}, {503, tries}, {429, tries}, {408, tries}, {204, 1}} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				w.WriteHeader(c.status)
			}))
			defer srv.Close()
			fails(t, newCache(t, Options{}), artifactOf("thing", srv.URL, data), fault.ExternalFailed,
				[]string{srv.URL, fmt.Sprintf("server answered status %d (expected %s)", c.status, sha256Of(data))})
			if int(asked.Load()) != c.asked {
				t.Errorf("asked %d times, want %d", asked.Load(), c.asked)
			}
		})
	}
}

func TestRetryAfterAServerError(t *testing.T) {
	data := content(1, 1000)
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < tries {
			w.WriteHeader(503)
			return
		}
		w.Write(data)
	}))
	defer srv.Close()
	c := newCache(t, Options{})
	a := artifactOf("thing", srv.URL, data)
	fetch(t, c, a)
	holds(t, c, a, data)
}

// A connection that breaks again and again delivers the object, as long as each try brings at least step bytes.
func TestManyCutsWithProgress(t *testing.T) {
	data := content(1, 10*step)
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		start := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &start); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(data)-1, len(data)))
			w.Header().Set("Content-Length", fmt.Sprint(len(data)-start))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(data[start:min(start+step, len(data))])
		w.(http.Flusher).Flush()
		if start+step < len(data) {
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	c := newCache(t, Options{})
	a := artifactOf("thing", srv.URL, data)
	fetch(t, c, a)
	holds(t, c, a, data)
	if asked.Load() <= tries {
		t.Errorf("the server was asked only %d times: no connection was cut", asked.Load())
	}
}

func TestStall(t *testing.T) {
	data := content(1, 1000)
	for name, before := range map[string]int{"before the header": -1, "in the body": 500} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if before > 0 && r.Header.Get("Range") == "" {
					w.Header().Set("Content-Length", "1000")
					w.Write(data[:before])
					w.(http.Flusher).Flush()
				}
				select {
				case <-r.Context().Done():
				case <-done:
				}
			}))
			defer srv.Close()
			defer close(done)
			a := artifactOf("thing", srv.URL, data)
			var left []string
			if before > 0 {
				left = []string{partialName(a)}
			}
			fails(t, newCache(t, Options{Stall: 50 * time.Millisecond}), a, fault.ExternalFailed, []string{srv.URL, "no bytes arrived for 50ms"}, left...)
		})
	}
}

// A transfer may take longer than the stall limit, as long as bytes arrive.
func TestSlowTransferIsNotStalled(t *testing.T) {
	data := content(1, 10)
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Length", "10")
		for i := range data {
			w.Write(data[i : i+1])
			w.(http.Flusher).Flush()
			time.Sleep(150 * time.Millisecond)
		}
	}))
	defer srv.Close()
	fetch(t, newCache(t, Options{Stall: time.Second}), artifactOf("thing", srv.URL, data))
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func TestRedirects(t *testing.T) {
	data := content(1, 1000)
	plain := httptest.NewServer(serve(data, ""))
	defer plain.Close()
	safe := httptest.NewTLSServer(serve(data, ""))
	defer safe.Close()
	to := func(url string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusFound) }
	}
	opts := Options{Client: safe.Client()} // trusts all TLS servers of httptest: they share a certificate

	down := httptest.NewTLSServer(to(plain.URL + "/x?sig=secret"))
	defer down.Close()
	err := fails(t, newCache(t, opts), artifactOf("thing", down.URL, data), fault.ExternalFailed, []string{down.URL, "refused a redirect from https to plain http"})
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the query is in %v", err)
	}
	// The second of two redirects is refused too: https to https, then to plain http.
	middle := httptest.NewTLSServer(to(down.URL))
	defer middle.Close()
	fails(t, newCache(t, opts), artifactOf("thing", middle.URL, data), fault.ExternalFailed, []string{middle.URL, "plain http"})

	for name, from := range map[string]*httptest.Server{
		"http to https": httptest.NewServer(to(safe.URL)), "http to http": httptest.NewServer(to(plain.URL)), "https to https": httptest.NewTLSServer(to(safe.URL)),
	} {
		c := newCache(t, opts)
		a := artifactOf(name, from.URL, data)
		fetch(t, c, a)
		holds(t, c, a, data)
		from.Close()
	}

	var loop *httptest.Server
	loop = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { to(loop.URL)(w, r) }))
	defer loop.Close()
	fails(t, newCache(t, opts), artifactOf("thing", loop.URL, data), fault.ExternalFailed, []string{loop.URL, "stopped after 10 redirects"})
}

func TestUntrustedCertificate(t *testing.T) {
	srv := httptest.NewUnstartedServer(serve(content(1, 10), ""))
	srv.Config.ErrorLog = discard
	srv.StartTLS()
	defer srv.Close()
	fails(t, newCache(t, Options{}), artifactOf("thing", srv.URL, content(1, 10)), fault.ExternalFailed, []string{srv.URL, "certificate"})
}

func TestServerDoesNotListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://user:hunter2@" + l.Addr().String() + "/x?key=hunter2"
	l.Close()
	err = fails(t, newCache(t, Options{}), artifactOf("thing", address, content(1, 10)), fault.ExternalFailed, []string{l.Addr().String() + "/x", "connection refused"})
	if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "Get ") {
		t.Errorf("got %v", err)
	}
	if hint := fault.HintOf(err); !strings.Contains(hint, "make box") {
		t.Errorf("hint: %s", hint)
	}
	// For another machine this hint would be wrong.
	for host, loopback := range map[string]bool{"127.0.0.1:1": true, "127.9.9.9": true, "[::1]:80": true, "localhost": true,
		"192.0.2.1:80": false, "example.org": false, "localhost.example.org": false} {
		if got := isLoopback(&httpSource{url: &url.URL{Scheme: "http", Host: host}}); got != loopback {
			t.Errorf("%s: %v", host, got)
		}
	}
	if isLoopback(&fileSource{"/x"}) {
		t.Error("a file counts as a server")
	}
}

func TestSchemes(t *testing.T) {
	for _, url := range []string{"ftp://example.org/x", "x", "file:x", "http://", "oci://example.org/x:latest", "data:text/plain,x"} {
		fails(t, newCache(t, Options{}), artifactOf("thing", url, content(1, 10)), fault.InvalidInput, nil)
	}
}

// The client asks for no content encoding, since compressed bytes would not have the digest of the file.
func TestContentEncodingIsNotAskedFor(t *testing.T) {
	data := content(1, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("asked for encoding %q", got)
		}
		w.Write(data)
	}))
	defer srv.Close()
	fetch(t, newCache(t, Options{}), artifactOf("thing", srv.URL, data))
}
