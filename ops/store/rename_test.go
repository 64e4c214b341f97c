package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// RenameNew renames files and directories, and replaces nothing, not even a dangling link.
func TestRenameNew(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{os.WriteFile(at("file"), []byte("new"), 0o600), os.WriteFile(at("old"), []byte("old"), 0o600),
		os.Mkdir(at("dir"), 0o700), os.Mkdir(at("empty"), 0o700), os.Symlink("nowhere", at("link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []string{"old", "empty", "link"} {
		if err := RenameNew(at("file"), at(to)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("to %s: %v", to, err)
		}
		if err := RenameNew(at("dir"), at(to)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a directory to %s: %v", to, err)
		}
	}
	if data, _ := os.ReadFile(at("old")); string(data) != "old" {
		t.Errorf("old has %q", data)
	}
	if err := errors.Join(RenameNew(at("file"), at("file2")), RenameNew(at("dir"), at("dir2"))); err != nil {
		t.Error(err)
	}
	if err := RenameNew(at("missing"), at("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
