package ops

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
)

// backedUp returns an open backup of entries; a regular file has its path as data.
func backedUp(t *testing.T, entries ...tree.Entry) *backup.Bundle {
	t.Helper()
	var stream bytes.Buffer
	w, err := tree.NewWriter(&stream, tree.Header{Version: tree.Version, Arch: "amd64"})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	for _, e := range append([]tree.Entry{{Path: []byte("."), Type: tree.Dir, Mode: 0o755}}, entries...) {
		if e.HasData() {
			e.Size = int64(len(e.Path))
		}
		must(w.Entry(&e))
		if e.HasData() {
			_, err := w.Write(e.Path)
			must(err)
			must(w.EndFile())
		}
	}
	_, err = w.End()
	must(err)
	identity, err := age.GenerateX25519Identity()
	must(err)
	pool, err := backup.Create(t.Context(), filepath.Join(t.TempDir(), "pool"), []backup.Recipient{{Recipient: identity.Recipient().String()}})
	must(err)
	env, err := pool.Write(t.Context(), &stream, backup.Meta{Box: "main"}, nil, nil)
	must(err)
	b, err := pool.Load(t.Context(), env.ID)
	must(err)
	return b
}

// getPaths gets paths of a backup into a directory.
func getPaths(ctx context.Context, b *backup.Bundle, dir string, paths ...string) (*BackupGot, error) {
	g := &getting{dir: dir, bundle: b, result: &BackupGot{}}
	defer g.close()
	for _, p := range paths {
		if err := g.want(p); err != nil {
			return nil, err
		}
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.result, g.get(ctx, nil)
}

// An imported backup, which anybody could have made, cannot write outside of the directory: its links are not followed,
// and after an error nothing is left.
func TestGetStaysInTheDirectory(t *testing.T) {
	outside := t.TempDir()
	file := func(path string) tree.Entry {
		return tree.Entry{Path: []byte(path), Type: tree.File, Mode: 0o644}
	}
	link := func(path, to string) tree.Entry {
		return tree.Entry{Path: []byte(path), Type: tree.Symlink, Mode: 0o777, Target: []byte(to)}
	}
	for name, c := range map[string]struct {
		entries []tree.Entry
		fails   bool
	}{
		"a file through an absolute link": {[]tree.Entry{link("d", outside), file("d/x")}, true},
		"a file through a relative link":  {[]tree.Entry{link("d", "../../.."), file("d/x")}, true},
		"a directory through a link":      {[]tree.Entry{link("d", outside), {Path: []byte("d/x"), Type: tree.Dir, Mode: 0o777}}, true},
		"a hard link to a link":           {[]tree.Entry{link("l", outside+"/secret"), {Path: []byte("m"), Type: tree.Symlink, Link: []byte("l"), Mode: 0o777}}, false},
		"a link to no file":               {[]tree.Entry{link("x", outside+"/made"), {Path: []byte("y"), Type: tree.File, Mode: 0o644}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := getPaths(t.Context(), backedUp(t, c.entries...), dir, "/data")
			if (err != nil) != c.fails {
				t.Error(err)
			}
			left, _ := os.ReadDir(dir)
			if err != nil && len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			names, _ := os.ReadDir(outside)
			data, _ := os.ReadFile(filepath.Join(outside, "secret"))
			if len(names) != 1 || string(data) != "secret" {
				t.Errorf("outside: %v, %q", names, data)
			}
		})
	}
}

// A hard link is copied with the data of its file, even if the file itself is not wanted.
func TestGetHardLink(t *testing.T) {
	at := time.Unix(1_000_000_000, 5)
	b := backedUp(t, tree.Entry{Path: []byte("d"), Type: tree.Dir, Mode: 0o700}, tree.Entry{Path: []byte("d/first"), Type: tree.File, Mode: 0o640, MTime: at.UnixNano()},
		tree.Entry{Path: []byte("second"), Type: tree.File, Mode: 0o640, MTime: at.UnixNano(), Link: []byte("d/first"), Size: int64(len("d/first"))})
	dir := t.TempDir()
	if _, err := getPaths(t.Context(), b, dir, "second"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "second")
	data, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(data) != "d/first" || info.Mode() != 0o640 || !info.ModTime().Equal(at) {
		t.Errorf("%q, %v, %v, %v", data, err, statErr, info)
	}
}

// Paths are named as in the box, or relative to the data disk; others are refused.
func TestGetPaths(t *testing.T) {
	for given, want := range map[string]string{
		"/data/a": "a", "/data": ".", "/data/": ".", "a/b/": "a/b", "./a": "a", "/home/agent/x": "home/agent/x", "/home/agent": "home/agent",
		"/workspace/x": "home/agent/workspace/x", "/workspace": "home/agent/workspace", "/workspace/../x": "", "/database": "", "/home/agents": "",
		"/": "", "": "", "..": "", "../data": "", "a/../../b": "", "/etc/passwd": "", "/data/../etc": "", "a\xff": "a\xff", strings.Repeat("n", 256): "",
	} {
		g := &getting{dir: "/"}
		err := g.want(given)
		if (err == nil) != (want != "") || err == nil && string(g.wanted[0].path) != want {
			t.Errorf("%q: %v, %v", given, g.wanted, err)
		}
		if err != nil && (fault.CodeOf(err) != fault.InvalidInput || fault.HintOf(err) == "") {
			t.Errorf("%q: %v", given, err)
		}
	}
}
