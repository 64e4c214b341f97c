package ops

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/backup"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// withBackup returns a box that has only a key and a backup of a small tree.
func withBackup(t *testing.T) *Box {
	t.Helper()
	home, err := store.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	b := &Box{Host: &Host{Dir: string(home), KeyStore: "file"}, Home: home, Config: &config.Config{Name: "main"}}
	if _, err := b.makeKey(t.Context(), false, func() error { return nil }, nil); err != nil {
		t.Fatal(err)
	}
	pool, err := b.OpenPool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	w, err := tree.NewWriter(&stream, tree.Header{Version: tree.Version, Arch: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []tree.Entry{
		{Path: []byte("."), Type: tree.Dir, Mode: 0o755},
		{Path: []byte("dir"), Type: tree.Dir, Mode: 0o500, MTime: 5e9},
		{Path: []byte("dir/file"), Type: tree.File, Mode: 0o640, Size: 3, MTime: 7e9},
		{Path: []byte("hard"), Type: tree.File, Link: []byte("dir/file")},
		{Path: []byte("link"), Type: tree.Symlink, Target: []byte("dir/file")},
		{Path: []byte("pipe"), Type: tree.Fifo},
		{Path: []byte("sparse"), Type: tree.File, Mode: 0o600, Size: 1 << 20, Sparse: true, Segments: []tree.Segment{{Offset: 4096, Length: 3}}},
	} {
		err := w.Entry(&e)
		if e.HasData() {
			_, writeErr := w.Write([]byte("abc"))
			err = errors.Join(err, writeErr, w.EndFile())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.End(); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Write(t.Context(), &stream, backup.Meta{Box: "main"}, nil, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// A drill finds everything in the restored files that differs from the backup, and says where.
func TestDrillFindsDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		change func(data string) error
		path   string // a path that a difference must name; "" for any
	}{
		"nothing":       {func(string) error { return nil }, ""},
		"data":          {func(d string) error { return overwrite(d+"/sparse", 4097, "x") }, "sparse"},
		"size":          {func(d string) error { return os.Truncate(d+"/sparse", 1<<20+1) }, "sparse"},
		"mode":          {func(d string) error { return os.Chmod(d+"/dir/file", 0o641) }, "dir/file"},
		"mode of a dir": {func(d string) error { return os.Chmod(d+"/dir", 0o700) }, "dir"},
		"a copy instead of the hard link": {func(d string) error {
			return errors.Join(os.Remove(d+"/hard"), os.WriteFile(d+"/hard", []byte("abc"), 0o640))
		}, ""},
		"target of a link":  {func(d string) error { return errors.Join(os.Remove(d+"/link"), os.Symlink("dir", d+"/link")) }, ""},
		"type":              {func(d string) error { return errors.Join(os.Remove(d+"/link"), os.Mkdir(d+"/link", 0o700)) }, ""},
		"a file is missing": {func(d string) error { return os.Remove(d + "/sparse") }, ""},
		"an extra file":     {func(d string) error { return os.WriteFile(d+"/more", nil, 0o600) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := withBackup(t)
			b.AfterStep = func(step string) {
				if step == "files" {
					if err := c.change(filepath.Join(b.DrillDir(), "data")); err != nil {
						t.Error(err)
					}
				}
			}
			done, err := b.DrillFiles(t.Context(), "", nil)
			if err == nil != (name == "nothing") {
				t.Fatalf("%v %+v", err, done)
			}
			if err != nil && (fault.CodeOf(err) != fault.IntegrityFailed || done.Different == 0 && done.Expected == done.Found) {
				t.Errorf("%v %+v", err, done)
			}
			if c.path != "" && !slices.ContainsFunc(done.Differences, func(d string) bool { return strings.HasPrefix(d, c.path+": ") }) {
				t.Errorf("the differences do not name %s: %q", c.path, done.Differences)
			}
			if text, err := os.ReadFile(done.Report); err != nil || !strings.Contains(string(text), done.Found) {
				t.Errorf("the report: %v %s", err, text)
			}
			if last, err := b.Drills(); err != nil || len(last) != 1 || last[done.Backup].Good() != (name == "nothing") || last[done.Backup].Found != done.Found {
				t.Errorf("the last drills: %v %v", last, err)
			}
			if !b.drillEnded() {
				t.Error("the restored files are there")
			}
			if j, err := b.Home.Journal("main"); err != nil || j != nil {
				t.Errorf("the journal is there: %v %v", j, err)
			}
		})
	}
}

func overwrite(path string, at int64, text string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), at)
	return errors.Join(err, f.Close(), os.Chtimes(path, info.ModTime(), info.ModTime()))
}

// Only an error that shows what is in the directory of a drill counts as a difference from the backup.
func TestUnreadFilesAreNoDifference(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("it is prw-------"), false},
		{&os.PathError{Op: "lstat", Path: "x", Err: syscall.ENOENT}, false},
		{&os.PathError{Op: "lstat", Path: "x", Err: syscall.ENOTDIR}, false},
		{&os.PathError{Op: "read", Path: "x", Err: syscall.EIO}, true},
		{&os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}, true},
		{&os.PathError{Op: "chmod", Path: "x", Err: syscall.EROFS}, true},
	} {
		if got := unread(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
