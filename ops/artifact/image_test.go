package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// hub is a real registry on loopback. front, if set, gets each request first; the registry answers those for which
// front returns false.
type hub struct {
	*httptest.Server
	front atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{}
	inner := registry.New(registry.Logger(discard))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if front := h.front.Load(); front != nil && (*front)(w, r) {
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hub) host() string { return strings.TrimPrefix(h.URL, "http://") }

// push puts an image into the registry and returns its artifact.
func (h *hub) push(t *testing.T, img v1.Image) lock.Artifact {
	t.Helper()
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewDigest(h.host() + "/some/executor@" + digest.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	size, err := img.Size() // the size of the manifest
	if err != nil {
		t.Fatal(err)
	}
	a := lock.Artifact{Name: "executor", URL: "oci://" + ref.String(), Digest: digest.String(), Size: size + m.Config.Size}
	seen := map[v1.Hash]bool{}
	for _, l := range m.Layers {
		if !seen[l.Digest] {
			a.Size += l.Size
			seen[l.Digest] = true
		}
	}
	return a
}

func randomImage(t *testing.T) v1.Image {
	t.Helper()
	img, err := random.Image(300_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// holdsImage checks that every part of the image is in the cache, and returns its blobs.
func holdsImage(t *testing.T, c *Cache, a lock.Artifact, img v1.Image) []Blob {
	t.Helper()
	if !c.Has(a) {
		t.Error("the image is not in the cache")
	}
	blobs, err := c.Image(a.Digest)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := img.Manifest()
	if blobs[0].Digest != m.Config.Digest.String() || blobs[0].Size != m.Config.Size {
		t.Errorf("config %+v, want %+v", blobs[0], m.Config)
	}
	for _, b := range append(blobs, Blob{Digest: a.Digest}) {
		if _, err := c.Path(t.Context(), b.Digest); err != nil {
			t.Error(err)
		}
	}
	raw, _ := img.RawManifest()
	path, _ := c.Path(t.Context(), a.Digest)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("manifest %q, %v", got, err)
	}
	return blobs
}

func TestImage(t *testing.T) {
	h := newHub(t)
	oci := mutate.ConfigMediaType(mutate.MediaType(randomImage(t), types.OCIManifestSchema1), types.OCIConfigJSON)
	for name, img := range map[string]v1.Image{"docker": randomImage(t), "oci": oci} {
		t.Run(name, func(t *testing.T) {
			a := h.push(t, img)
			c := newCache(t, Options{})
			if c.Has(a) {
				t.Error("the image is in the cache before the fetch")
			}
			if missing, bytes := c.Missing([]lock.Artifact{a}); len(missing) != 1 || bytes != a.Size {
				t.Errorf("missing %v, %d", missing, bytes)
			}
			var last Progress
			if err := c.Fetch(t.Context(), []lock.Artifact{a}, func(p Progress) { last = p }); err != nil {
				t.Fatal(err)
			}
			if last != (Progress{"executor", a.Size, a.Size, a.Size, a.Size}) {
				t.Errorf("last progress %+v", last)
			}
			if blobs := holdsImage(t, c, a, img); len(blobs) != 4 || len(files(t, c.dir)) != 5 {
				t.Errorf("blobs %v, files %q", blobs, files(t, c.dir))
			}
		})
	}
}

func TestImageWithTheSameLayerTwice(t *testing.T) {
	img := randomImage(t)
	layers, _ := img.Layers()
	img, err := mutate.AppendLayers(img, layers[0])
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(t)
	a := h.push(t, img)
	c := newCache(t, Options{})
	fetch(t, c, a)
	if blobs := holdsImage(t, c, a, img); len(blobs) != 4 {
		t.Errorf("blobs %v", blobs)
	}
}

// A cache can be the mirror of another: the image is fetched from it without a request to the registry.
func TestImageFromAMirror(t *testing.T) {
	h := newHub(t)
	img := randomImage(t)
	a := h.push(t, img)
	mirror := newCache(t, Options{})
	fetch(t, mirror, a)
	h.Close()
	c := newCache(t, Options{Mirrors: []string{t.TempDir(), mirror.dir}})
	fetch(t, c, a)
	holdsImage(t, c, a, img)
}

func TestImageWithAPartGone(t *testing.T) {
	h := newHub(t)
	img := randomImage(t)
	a := h.push(t, img)
	c := newCache(t, Options{})
	fetch(t, c, a)
	for _, b := range append(holdsImage(t, c, a, img), Blob{Digest: a.Digest}) {
		d, _ := lock.ParseDigest(b.Digest)
		if err := os.Remove(c.path(d)); err != nil {
			t.Fatal(err)
		}
		if c.Has(a) {
			t.Errorf("the image counts as cached without %s", b.Digest)
		}
		if missing, bytes := c.Missing([]lock.Artifact{a}); len(missing) != 1 || bytes == 0 {
			t.Errorf("%s: missing %v, %d", b.Digest, missing, bytes)
		}
		if _, err := c.Image(a.Digest); fault.CodeOf(err) != fault.NotFound || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", b.Digest, err)
		}
		fetch(t, c, a)
		holdsImage(t, c, a, img)
	}
}

func TestImageRefusals(t *testing.T) {
	h := newHub(t)
	img := randomImage(t)
	a := h.push(t, img)
	m, _ := img.Manifest()
	layer := m.Layers[1]
	at := "oci://" + h.host() + "/some/executor@"
	isLayer := func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/blobs/"+layer.Digest.String())
	}
	wrong := content(9, int(layer.Size))
	for _, c := range []struct {
		name  string
		front func(http.ResponseWriter, *http.Request) bool
		code  fault.Code
		words []string
	}{
		{"blob of another digest", func(w http.ResponseWriter, r *http.Request) bool {
			if !isLayer(r) {
				return false
			}
			w.Write(wrong)
			return true
		}, fault.IntegrityFailed, []string{at + layer.Digest.String(), "expected " + layer.Digest.String() + ", found " + sha256Of(wrong)}},
		{"blob not there", func(w http.ResponseWriter, r *http.Request) bool {
			if !isLayer(r) {
				return false
			}
			w.WriteHeader(404)
			return true
		}, fault.ExternalFailed, []string{at + layer.Digest.String(), "server answered status 404"}},
		{"manifest not there", func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			w.WriteHeader(404)
			return true
		}, fault.ExternalFailed, []string{at + a.Digest, "server answered status 404"}},
		{"manifest of another digest", func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			io.WriteString(w, "{}")
			return true
		}, fault.IntegrityFailed, []string{at + a.Digest, "found " + sha256Of([]byte("{}"))}},
		{"endless manifest", func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			w.(http.Flusher).Flush()
			for i := 0; i < 2*maxManifest; i += 1 << 16 {
				w.Write(wrong[:1<<16])
			}
			return true
		}, fault.IntegrityFailed, []string{at + a.Digest, "expected at most 4194304 bytes, found more"}},
		{"down", func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(502)
			return true
		}, fault.ExternalFailed, []string{at + a.Digest, "server answered status 502"}},
		{"login wanted", func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(401)
			return true
		}, fault.ExternalFailed, []string{at + a.Digest, "server answered status 401"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.front.Store(&c.front)
			defer h.front.Store(nil)
			cache := newCache(t, Options{})
			err := cache.Fetch(t.Context(), []lock.Artifact{a}, nil)
			if fault.CodeOf(err) != c.code || fault.HintOf(err) == "" || !strings.HasPrefix(err.Error(), "artifact executor: ") {
				t.Fatalf("got %v (%s)", err, fault.CodeOf(err))
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in: %v", w, err)
				}
			}
			if cache.Has(a) {
				t.Error("the refused image is in the cache")
			}
			h.front.Store(nil)
			fetch(t, cache, a)
			holdsImage(t, cache, a, img)
		})
	}
	t.Run("size", func(t *testing.T) {
		wrong := a
		wrong.Size++
		err := newCache(t, Options{}).Fetch(t.Context(), []lock.Artifact{wrong}, nil)
		want := fmt.Sprintf("artifact executor: expected %d bytes, found %d in the manifest, config and layers of %s", wrong.Size, a.Size, a.Digest)
		if fault.CodeOf(err) != fault.IntegrityFailed || err.Error() != want {
			t.Errorf("got %v", err)
		}
	})
}

func TestIndexIsNoImage(t *testing.T) {
	h := newHub(t)
	index, err := random.Index(1000, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	digest, _ := index.Digest()
	ref, _ := name.NewDigest(h.host() + "/some/executor@" + digest.String())
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	a := lock.Artifact{Name: "executor", URL: "oci://" + ref.String(), Digest: digest.String(), Size: 5000}
	err = newCache(t, Options{}).Fetch(t.Context(), []lock.Artifact{a}, nil)
	if fault.CodeOf(err) != fault.IntegrityFailed || !strings.Contains(err.Error(), "an index of several") || !strings.Contains(fault.HintOf(err), "arch") {
		t.Errorf("got %v, hint %q", err, fault.HintOf(err))
	}
}

// An image is fetched from a registry that requires a token and redirects blobs to another host, which cuts
// connections. The token is not sent to the other host.
func TestRegistryWithTokensAndRedirects(t *testing.T) {
	h := newHub(t)
	img := randomImage(t)
	a := h.push(t, img)
	layers, _ := img.Layers()
	byDigest := map[string][]byte{}
	for _, l := range layers {
		d, _ := l.Digest()
		r, _ := l.Compressed()
		byDigest[d.String()], _ = io.ReadAll(r)
	}
	var cdnAuth, resumed atomic.Int32
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			cdnAuth.Add(1)
		}
		data := byDigest[filepath.Base(r.URL.Path)]
		cutting(data, len(data)/2, func(w http.ResponseWriter, r *http.Request) {
			resumed.Add(1)
			serve(data, "")(w, r)
		})(w, r)
	}))
	defer cdn.Close()
	var tokens atomic.Int32
	front := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			if r.URL.Query().Get("scope") != "repository:some/executor:pull" || r.Header.Get("Authorization") != "" {
				t.Errorf("token asked for with %s, %v", r.URL, r.Header)
			}
			tokens.Add(1)
			json.NewEncoder(w).Encode(map[string]string{"token": "t0ken"})
			return true
		}
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="hub"`, h.URL))
			w.WriteHeader(401)
			return true
		}
		if digest := filepath.Base(r.URL.Path); byDigest[digest] != nil {
			http.Redirect(w, r, cdn.URL+"/"+digest, http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	h.front.Store(&front)
	c := newCache(t, Options{})
	fetch(t, c, a)
	holdsImage(t, c, a, img)
	if tokens.Load() != 1 || resumed.Load() != 3 || cdnAuth.Load() != 0 {
		t.Errorf("%d tokens, %d resumed, %d tokens shown to the other host", tokens.Load(), resumed.Load(), cdnAuth.Load())
	}
}

func FuzzParseManifest(f *testing.F) {
	img, err := random.Image(100, 2)
	if err != nil {
		f.Fatal(err)
	}
	raw, err := img.RawManifest()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`))
	f.Add([]byte(`{"config":{"digest":"sha256:../x","size":1},"layers":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		blobs, err := parseManifest(data)
		if err != nil {
			return
		}
		if len(blobs) == 0 || sumSizes(blobs) < int64(len(blobs)) {
			t.Errorf("blobs %v", blobs)
		}
		for _, b := range blobs {
			if d, err := lock.ParseDigest(b.Digest); err != nil || d.Algo != "sha256" || b.Size < 1 {
				t.Errorf("blob %+v", b)
			}
		}
	})
}
