package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestStepIsMadeOncePerRecipe(t *testing.T) {
	l := &lab{dir: t.TempDir()}
	write(t, l.path("log", "keep"), "")
	made := 0
	s := step{name: "a thing", product: "thing", recipe: []string{"1"}, make: func(b *build, _ context.Context) error {
		made++
		return os.WriteFile(filepath.Join(b.dir, "it"), []byte{byte('0' + made)}, 0o600)
	}}
	content := func() string {
		t.Helper()
		data, err := os.ReadFile(l.path("thing", "it"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for range 2 {
		if _, err := l.do(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if made != 1 || content() != "1" {
		t.Fatalf("made %d times, holds %s", made, content())
	}
	if info, err := os.Stat(l.path("thing", "it")); err != nil || info.Mode().Perm()&0o044 != 0o044 {
		t.Fatalf("other users cannot read the product: %v, %v", info.Mode(), err)
	}
	s.recipe = []string{"2"}
	if o, err := l.do(t.Context(), s); err != nil || !o.built || content() != "2" {
		t.Fatalf("another recipe: built %v, %v, holds %s", o.built, err, content())
	}

	s.recipe = []string{"3"}
	s.make = func(b *build, _ context.Context) error {
		write(t, filepath.Join(b.dir, "it"), "half")
		return errors.New("broken")
	}
	if _, err := l.do(t.Context(), s); err == nil || content() != "2" {
		t.Fatalf("a failed step: %v, holds %s", err, content())
	}
	if left, _ := os.ReadDir(l.path(".work")); len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestStepsAreConsistent(t *testing.T) {
	names := map[string]bool{}
	products := map[string]bool{}
	for _, s := range steps() {
		if names[s.name] || s.product != "" && products[s.product] {
			t.Errorf("%s has the name or the product of an earlier step", s.name)
		}
		for _, after := range s.after {
			if !names[after] {
				t.Errorf("%s needs %s, which does not come before it", s.name, after)
			}
		}
		names[s.name], products[s.product] = true, true
		if key := s.key(); len(key) != 64 {
			t.Errorf("%s has the key %q", s.name, key)
		}
	}
}

func TestExecNamesTheProgramAndItsLastLines(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b := &build{log: log, tmp: t.TempDir()}
	err = b.exec(t.Context(), cmd{argv: []string{"sh", "-c", "echo why; exit 3"}})
	if want := "sh: exit status 3\nwhy\nhint: all of its output is in " + log.Name(); err == nil || err.Error() != want {
		t.Fatalf("got %v\nwant %s", err, want)
	}
	out, err := b.output(t.Context(), cmd{argv: []string{"sh", "-c", "echo noise >&2; echo $X"}, env: []string{"X=text"}})
	if err != nil || string(out) != "text\n" {
		t.Fatalf("got %q, %v", out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.exec(ctx, cmd{argv: []string{"sleep", "100"}}); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
}
