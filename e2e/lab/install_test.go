package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestLinkKeepsWhatIsThere(t *testing.T) {
	bin, here := t.TempDir(), t.TempDir()
	t.Chdir(here)
	t.Setenv("PATH", "")
	to := filepath.Join(bin, "program")
	for range 2 { // the second run finds the first one's link
		if err := link("program", bin, io.Discard); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(to); err != nil || filepath.Base(got) != "program" || !filepath.IsAbs(got) {
			t.Fatalf("%s: %v", got, err)
		}
	}
	os.Remove(to)
	if err := os.WriteFile(to, []byte("of another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := link("program", bin, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(to); string(got) != "of another" {
		t.Errorf("%q", got)
	}
}
