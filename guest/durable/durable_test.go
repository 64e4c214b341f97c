package durable

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// After each step of a write, a reader sees the old file or the new one, and an interrupted write can be repeated.
func TestWriteIsAtomic(t *testing.T) {
	tree := Tree{Root: t.TempDir()}
	path := tree.Path("file")
	if err := tree.Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	tree.After = func(step string) {
		text, _ := os.ReadFile(path)
		seen = append(seen, step+": "+string(text))
	}
	if err := os.WriteFile(path+".new", []byte("left by a crash"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tree.Write(path, []byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0] != "write file.new: old" || seen[1] != "rename to file: new" {
		t.Errorf("seen %q", seen)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file is there: %v", err)
	}
}

// After each step of a change, the link has the old target or the new one.
func TestSymlinkIsAtomic(t *testing.T) {
	tree := Tree{Root: t.TempDir()}
	link := tree.Path("link")
	if err := tree.Symlink("old", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("left by a crash", Beside(link)); err != nil {
		t.Fatal(err)
	}
	var seen []string
	tree.After = func(step string) {
		target, err := os.Readlink(link)
		if err != nil {
			t.Errorf("after %q: %v", step, err)
		}
		seen = append(seen, target)
	}
	if err := tree.Symlink("new", link); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 3 || seen[1] != "old" || seen[2] != "new" {
		t.Errorf("targets %q", seen)
	}
	seen = nil
	if err := tree.Symlink("new", link); err != nil || len(seen) != 0 {
		t.Errorf("the same target again: %v, %q", err, seen)
	}
}

// owner records the paths that are given to the user.
type owner map[string]int

func (o owner) Chown(path string, uid, _ int) error { o[path] = uid; return nil }

// Seed and Replace write files for the owner of a directory, and follow no symlink out of it.
func TestFilesOfAUser(t *testing.T) {
	tree, given := Tree{Root: t.TempDir()}, owner{}
	dir := Dir{Path: "/home", UID: 1000, Mode: 0o700}
	for _, want := range []bool{true, false} {
		if made, err := tree.MakeDir(dir, given); made != want || err != nil {
			t.Fatalf("%v, %v", made, err)
		}
	}
	outside := tree.Path("outside")
	if err := errors.Join(os.WriteFile(outside, []byte("theirs"), 0o644), os.Symlink("../outside", tree.Path("home/config"))); err != nil {
		t.Fatal(err)
	}
	if err := tree.Seed(dir, "config", []byte("ours"), 0o600, given); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(tree.Path("home/config")); err != nil || target != "../outside" {
		t.Errorf("a seed replaced the user's link: %q, %v", target, err)
	}
	if err := tree.Replace(dir, "config", []byte("ours"), 0o600, given); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(tree.Path("home/config"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if text, _ := os.ReadFile(outside); string(text) != "theirs" {
		t.Errorf("the file outside is %q", text)
	}
	if given[tree.Path("home/config.new")] != 1000 || given[Beside(tree.Path("home"))] != 1000 {
		t.Errorf("owners: %v", given)
	}
}
