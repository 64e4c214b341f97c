package backup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Discard removes a pool that lists no backup. It refuses a pool with a listed backup or a foreign file: the backup
// stays readable and the key stays.
func TestDiscard(t *testing.T) {
	t.Parallel()
	p, identity := newPool(t)
	dir := p.disk.dir
	env := save(t, p, odd(), Meta{Box: "main"}, nil, nil)
	if err := Discard(t.Context(), dir); err == nil {
		t.Error("a pool with a backup was discarded")
	}
	if _, err := p.Verify(t.Context(), env.ID, nil); err != nil {
		t.Error(err)
	}
	must(t, Unlist(dir, env.ID))
	must(t, Unlist(dir, env.ID)) // it is gone already
	if list, err := List(dir); err != nil || len(list) > 0 {
		t.Errorf("listed: %v %v", list, err)
	}
	for _, name := range []string{"mine", "chunks/mine", "chunks/00/mine", "artifacts/sha256/mine"} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, nil, 0o600))
		if err := Discard(t.Context(), dir); err == nil {
			t.Errorf("a pool with %s was discarded", name)
		}
		if _, err := Open(dir, identity); err != nil {
			t.Errorf("%s: the key is gone: %v", name, err)
		}
		must(t, os.Remove(path))
	}
	must(t, os.WriteFile(filepath.Join(dir, env.ID+".age"), nil, 0o600))
	if err := Discard(t.Context(), dir); err == nil {
		t.Error("a pool with a backup whose envelope is missing was discarded")
	}
	must(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "tmp", env.ID+".json"), nil, 0o600)) // as a killed import leaves it
	must(t, os.WriteFile(filepath.Join(dir, "tmp", "x"), nil, 0o600))
	must(t, Discard(t.Context(), dir))
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		entries, _ := os.ReadDir(dir)
		t.Errorf("the directory is there: %v", entries)
	}
	must(t, Discard(t.Context(), dir))
	must(t, Unlist(dir, env.ID))
	if err := Unlist(dir, "../x"); err == nil {
		t.Error("unlisted ../x")
	}
}

// Names passes the path of every entry, in the order of the entries.
func TestNames(t *testing.T) {
	t.Parallel()
	p, _ := newPool(t)
	f := odd()
	b := load(t, p, save(t, p, f, Meta{Box: "main"}, nil, nil).ID)
	var got, want []string
	for _, file := range f.files {
		want = append(want, string(file.Path))
	}
	must(t, b.Names(func(path []byte) error { got = append(got, string(path)); return nil }))
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
