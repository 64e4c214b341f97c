package machine

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// An image with a wrong digest is removed by its tag, since a running release may have the same image ID.
func TestLoadImageOfAnotherDigest(t *testing.T) {
	dir := t.TempDir()
	script := `#!/bin/sh
echo "$*" >>"$0.log"
case "$1 $2" in
"pull "*) echo 0123abcd ;;
"image inspect") echo sha256:found ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "podman"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for digest, want := range map[string]string{
		"sha256:found":  "pull --quiet oci:/layout\nimage inspect --format {{.Digest}} 0123abcd\ntag 0123abcd the/tag:1\n",
		"sha256:wanted": "pull --quiet oci:/layout\nimage inspect --format {{.Digest}} 0123abcd\ntag 0123abcd the/tag:1\nimage exists the/tag:1\nrmi the/tag:1\n",
	} {
		os.Remove(filepath.Join(dir, "podman.log"))
		err := New().LoadImage(t.Context(), "/layout", digest, "the/tag:1")
		if (err == nil) != (digest == "sha256:found") {
			t.Errorf("%s: %v", digest, err)
		}
		if ran, _ := os.ReadFile(filepath.Join(dir, "podman.log")); string(ran) != want {
			t.Errorf("%s: ran\n%s", digest, ran)
		}
	}
}

func TestInstalledVersion(t *testing.T) {
	for text, want := range map[string]string{"installed 1.2-3": "1.2-3", "config-files 1.2-3": "", "not-installed ": "", "": "", "unpacked 1": ""} {
		if got := installedVersion(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestAsk(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/big":
			w.Write(make([]byte, 2*maxAnswer))
		default:
			w.WriteHeader(401)
			w.Write([]byte(r.Method + r.Header.Get("X-A")))
		}
	}))
	defer srv.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // must not be asked
	m := New()
	if status, body, err := m.Get(t.Context(), srv.URL, map[string]string{"X-A": "b"}); status != 401 || string(body) != "GETb" || err != nil {
		t.Errorf("%d %q %v", status, body, err)
	}
	if status, body, err := m.Post(t.Context(), srv.URL, nil, []byte("x")); status != 401 || string(body) != "POST" || err != nil {
		t.Errorf("%d %q %v", status, body, err)
	}
	if status, _, err := m.Get(t.Context(), srv.URL+"/moved", nil); status != 302 || err != nil {
		t.Errorf("a redirect was followed: %d, %v", status, err)
	}
	if _, body, err := m.Get(t.Context(), srv.URL+"/big", nil); len(body) != maxAnswer || err != nil {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}
