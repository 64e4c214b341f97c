package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/internal/rehearsal/demo"
	"hermes-box/ops/fault"
)

// A state directory that is not absolute is refused, since it would depend on the current directory. So is one with a ~
// that the shell has not expanded. The hint sets the absolute path that was meant, or /DIR if that is not known.
func TestDirectoriesAreAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", "/home/someone")
	for _, c := range []struct{ dir, hint string }{
		{"/abs/olute", ""},
		{"relative", "=" + filepath.Join(dir, "relative")},
		{"./a b", "='" + filepath.Join(dir, "a b") + "'"},
		{"~/x", "=/home/someone/x"},
		{"~", "=/home/someone"},
		{"~other/x", "=/DIR"},
	} {
		t.Setenv(homeName, c.dir)
		got, err := homeDir()
		if c.hint == "" {
			if err != nil || got != c.dir {
				t.Errorf("%s: %q, %v", c.dir, got, err)
			}
			continue
		}
		if fault.CodeOf(err) != fault.InvalidInput || fault.HintOf(err) != "export "+homeName+c.hint || !strings.Contains(err.Error(), c.dir) {
			t.Errorf("%s: %v, hint %q", c.dir, err, fault.HintOf(err))
		}
		t.Setenv(demo.DirVariable, c.dir)
		if _, err := (&app{demo: true}).host(); fault.HintOf(err) != "export "+demo.DirVariable+c.hint {
			t.Errorf("demo in %s: %v, hint %q", c.dir, err, fault.HintOf(err))
		}
	}
	t.Setenv(homeName, "")
	t.Setenv("HOME", "relative")
	if err := needHome(); fault.HintOf(err) != "export HOME="+filepath.Join(dir, "relative") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("made: %v", entries)
	}
}

// Lima panics if HOME is not set, so hermes-box sets it from the user database, which ssh uses as well.
func TestHomeNotSet(t *testing.T) {
	t.Setenv("HOME", "")
	if err := needHome(); err != nil {
		t.Fatal(err)
	}
	if home := os.Getenv("HOME"); !filepath.IsAbs(home) {
		t.Errorf("HOME is %q", home)
	}
}
