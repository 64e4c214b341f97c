package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"hermes-box/ops/lock"
)

// smallLab returns a lab whose cache has small artifacts and their lock.
func smallLab(t *testing.T) *lab {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	l := &lab{dir: t.TempDir(), port: port}
	for _, name := range []string{"disk.qcow2", "vmlinuz", "initrd.img"} {
		write(t, l.path("image", name), "the bytes of "+name)
	}
	if err := os.Mkdir(l.path(".work"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, product := range []string{"packages", "mirror/node", "mirror/uv", "mirror/claude", "mirror/codex", "mirror/hermes"} {
		b := &build{lab: l, dir: l.path(product)}
		write(t, l.path(product, "file.bin"), product)
		_, digest, err := digestFile(l.path(product, "file.bin"), "sha512-")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.record([]file{{Name: "file.bin", Package: "tree", Version: "1:2.0-1", Digest: digest}}); err != nil {
			t.Fatal(err)
		}
	}
	layer := l.path(".work", "layer.tar")
	err = writeTar(layer, func(w *tar.Writer) error {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "app/", Mode: 0o755, ModTime: epoch})
	})
	if err != nil {
		t.Fatal(err)
	}
	img, err := executorImage(layer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := layout.Write(l.path("registry"), empty.Index); err != nil {
		t.Fatal(err)
	}
	if err := layout.Path(l.path("registry")).AppendImage(img); err != nil {
		t.Fatal(err)
	}
	if err := l.writeLock(); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLockNamesWhatIsServed(t *testing.T) {
	l := smallLab(t)
	stop, err := l.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	made, err := lock.Load(l.lockPath())
	if err != nil {
		t.Fatal(err)
	}
	all := []lock.Artifact{made.Image.Disk, made.Image.Kernel.Artifact, *made.Image.Initrd}
	for _, p := range made.Packages {
		all = append(all, p.Artifact)
	}
	for _, c := range made.Components {
		all = append(all, c.Artifacts...)
	}
	if len(all) != 3+1+len(lock.Order) {
		t.Fatalf("the lock names %d artifacts", len(all))
	}
	for _, a := range all {
		if strings.HasPrefix(a.URL, "oci:") {
			ref, err := name.NewDigest(strings.TrimPrefix(a.URL, "oci://"))
			if err != nil {
				t.Fatal(err)
			}
			img, err := remote.Image(ref, remote.WithContext(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := img.RawManifest()
			if err != nil {
				t.Fatal(err)
			}
			config, err := img.RawConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			size := int64(len(manifest) + len(config))
			layers, err := img.Layers()
			if err != nil {
				t.Fatal(err)
			}
			for _, layer := range layers {
				r, err := layer.Compressed()
				if err != nil {
					t.Fatal(err)
				}
				n, err := io.Copy(io.Discard, r)
				if err != nil {
					t.Fatal(err)
				}
				size += n
			}
			if size != a.Size {
				t.Errorf("%s: the lock says %d bytes, the registry gave %d", a.Name, a.Size, size)
			}
			continue
		}
		if body := get(t, a.URL, "", http.StatusOK); int64(len(body)) != a.Size {
			t.Errorf("%s: the lock says %d bytes, got %q", a.URL, a.Size, body)
		}
	}
}

// The lab serves the files of the products that the lock needs, and ranges of them, but no logs and not the lock.
func TestServeOnlyProducts(t *testing.T) {
	l := smallLab(t)
	write(t, l.path("log", "secret"), "not a product")
	stop, err := l.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	base := "http://" + l.address()
	if got := get(t, base+"/image/vmlinuz", "bytes=4-8", http.StatusPartialContent); got != "bytes" {
		t.Errorf("range is %q", got)
	}
	for _, path := range []string{"/log/secret", "/hermes-box.lock", "/image/../log/secret", "/"} {
		get(t, base+path, "", http.StatusNotFound)
	}
}

func get(t *testing.T, url, ranges string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ranges != "" {
		req.Header.Set("Range", ranges)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s: %s, %v; want %d", url, resp.Status, err, status)
	}
	return string(body)
}

func TestPortInUse(t *testing.T) {
	l := smallLab(t)
	stop, err := l.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	again, err := l.listen(t.Context())
	if err != nil {
		t.Fatalf("the same cache again: %v", err)
	}
	again()
	get(t, "http://"+l.address()+"/image/vmlinuz", "", http.StatusOK) // the first still serves

	other := smallLab(t)
	other.port = l.port
	if _, err := other.listen(t.Context()); err == nil || !strings.Contains(err.Error(), "another cache") {
		t.Fatalf("another cache: %v", err)
	}
	if _, err := (&lab{dir: t.TempDir()}).listen(t.Context()); err == nil || !strings.Contains(err.Error(), "lab prepare") {
		t.Fatalf("an empty cache: %v", err)
	}
}

func TestRunPassesStatusAndSignals(t *testing.T) {
	l := smallLab(t)
	for script, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143,
		fmt.Sprintf(`[ "$HERMES_BOX_LAB" = %q ] || exit 9`, l.dir): 0,
	} {
		var status exitStatus
		err := l.run(context.Background(), []string{"sh", "-c", script})
		if err != nil && !errors.As(err, &status) {
			t.Fatal(err)
		}
		if int(status) != want {
			t.Errorf("%s: status %d, want %d", script, status, want)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if err := l.run(t.Context(), []string{"sh", "-c", "trap ': > " + out + "; exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"}); !errors.Is(err, exitStatus(5)) {
		t.Fatalf("a signal to the lab: %v", err)
	}
	if _, err := os.Stat(out); err != nil {
		t.Fatal(err)
	}
}

func TestImageIsReproducible(t *testing.T) {
	a, b := smallLab(t), smallLab(t)
	_, first, err := a.executorImage()
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := b.executorImage()
	if err != nil || first != second {
		t.Fatalf("%s and %s, %v", first, second, err)
	}
}
