package object

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// extractInto unpacks into a directory, and fails the test if it finds a change outside that directory.
func extractInto(t testing.TB, data []byte, strip int) (dir string, err error) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "dir")
	for _, d := range []string{"dir", "outside"} {
		if err := os.Mkdir(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "outside/secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	err = extract(context.Background(), bytes.NewReader(data), int64(len(data)), root, strip)
	for _, d := range []string{"", "outside"} {
		entries, e := os.ReadDir(filepath.Join(top, d))
		if e != nil || len(entries) != 2-len(d)/7 {
			t.Fatalf("outside of its directory the archive left %v, %v", entries, e)
		}
	}
	info, e := os.Stat(filepath.Join(top, "outside/secret"))
	if e != nil || info.Size() != 6 || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file outside is %v, %v", info, e)
	}
	return dir, err
}

func tarOf(headers ...tar.Header) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		body := h.Uname // file passes the content in this field
		h.Uname = ""
		h.Size = int64(len(body))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		w.WriteHeader(&h)
		io.WriteString(w, body)
	}
	w.Close()
	return buf.Bytes()
}

func file(name, body string, mode int64) tar.Header {
	return tar.Header{Name: name, Uname: body, Mode: mode}
}

func link(name, target string) tar.Header {
	return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
}

func TestExtract(t *testing.T) {
	plain := tarOf(
		tar.Header{Name: "top/", Typeflag: tar.TypeDir, Mode: 0o700},
		file("top/bin/tool", "#!/bin/sh\n", 0o4777),
		file("./top/note", "hello", 0o600),
		link("top/bin/alias", "../bin/tool"),
		tar.Header{Name: "top/hard", Linkname: "top/note", Typeflag: tar.TypeLink},
		file("elsewhere", "left out by strip", 0o644),
	)
	compressed := func(w func(io.Writer) io.WriteCloser) []byte {
		var buf bytes.Buffer
		z := w(&buf)
		z.Write(plain)
		z.Close()
		return buf.Bytes()
	}
	for name, data := range map[string][]byte{
		"tar":  plain,
		"gzip": compressed(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"zstd": compressed(func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }),
		"xz":   compressed(func(w io.Writer) io.WriteCloser { z, _ := xz.NewWriter(w); return z }),
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := extractInto(t, data, 1)
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]struct {
				body string
				mode fs.FileMode
			}{"bin/tool": {"#!/bin/sh\n", 0o755}, "bin/alias": {"#!/bin/sh\n", 0o755}, "note": {"hello", 0o644}, "hard": {"hello", 0o644}} {
				body, err := os.ReadFile(filepath.Join(dir, path))
				info, _ := os.Stat(filepath.Join(dir, path))
				if err != nil || string(body) != want.body || info.Mode() != want.mode {
					t.Errorf("%s: %q %v, %v", path, body, info, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
				t.Error("an entry whose name has no more elements than strip was unpacked")
			}
			if name == "tar" {
				return
			}
			// An archive whose end is missing is refused, even if only its checksum is missing.
			for _, cut := range []int{1, 5, len(data) / 2} {
				if _, err := extractInto(t, data[:len(data)-cut], 1); err == nil {
					t.Errorf("an archive without its last %d bytes is accepted", cut)
				}
			}
		})
	}
}

func TestExtractRefuses(t *testing.T) {
	for name, data := range map[string][]byte{
		"name with ..":               tarOf(file("../outside/new", "x", 0o644)),
		".. inside a name":           tarOf(file("a/../../outside/new", "x", 0o644)),
		"absolute name":              tarOf(file("/outside/new", "x", 0o644)),
		"backslash":                  tarOf(file(`..\outside\new`, "x", 0o644)),
		"link out":                   tarOf(link("a", "../outside")),
		"link to absolute":           tarOf(link("a", "/etc")),
		"link out of a subdirectory": tarOf(link("a/b", "../../outside")),
		"link below a link":          tarOf(link("s", "."), link("s/s/s/l", "../../../outside")),
		"write through a link":       tarOf(link("a/b/c", "../.."), link("up", "a/b/c/.."), file("up/outside/new", "x", 0o644)),
		"file over a link":           tarOf(file("secret", "x", 0o644), link("l", "secret"), file("l", "y", 0o644)),
		"hard link out":              tarOf(tar.Header{Name: "a", Linkname: "../outside/secret", Typeflag: tar.TypeLink}),
		"hard link via link":         tarOf(link("a/b/c", "../.."), tar.Header{Name: "h", Linkname: "a/b/c/../outside/secret", Typeflag: tar.TypeLink}),
		"a name twice":               tarOf(file("a", "x", 0o644), file("a", "y", 0o644)),
		"device":                     tarOf(tar.Header{Name: "dev", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}),
		"fifo":                       tarOf(tar.Header{Name: "fifo", Typeflag: tar.TypeFifo}),
		"no archive":                 []byte(strings.Repeat("nothing", 200)),
		"bomb":                       gzipped(tarOf(file("a", strings.Repeat("\x00", 8<<20), 0o644))),
		"zip name with ..":           zipOf("../outside/new", 0o644),
		"zip link":                   zipOf("l", fs.ModeSymlink|0o777),
		"half a zip":                 zipOf("a", 0o644)[:40],
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := extractInto(t, data, 0); err == nil {
				t.Error("the archive was accepted")
			}
		})
	}
}

func gzipped(data []byte) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	z.Write(data)
	z.Close()
	return buf.Bytes()
}

func zipOf(name string, mode fs.FileMode) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	h := &zip.FileHeader{Name: name}
	h.SetMode(mode)
	f, _ := w.CreateHeader(h)
	f.Write([]byte("body"))
	w.Close()
	return buf.Bytes()
}

func TestExtractStopsWhenCancelled(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	data := zipOf("a", 0o644)
	if err := extract(ctx, bytes.NewReader(data), int64(len(data)), root, 0); err == nil {
		t.Error("no error")
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(tarOf(file("a/b", "x", 0o755), link("a/c", "b"), link("d", "a/..")), 0)
	f.Add(tarOf(link("a/b/c", "../.."), link("up", "a/b/c/.."), file("up/outside/new", "x", 0o644)), 1)
	f.Add(zipOf("a/b", 0o755), 1)
	f.Add(zipOf("../a", 0o755), 0)
	f.Fuzz(func(t *testing.T, data []byte, strip int) {
		if strip < 0 || strip > 4 || len(data) > 1<<16 {
			return
		}
		extractInto(t, data, strip) // fails if it finds a change outside the directory
	})
}
