package tui

import (
	"strings"
	"testing"
	"time"

	"hermes-box/guest/protocol/tree"
)

// Types and modes are shown as ls -l shows them.
func TestModeText(t *testing.T) {
	for _, c := range []struct {
		typ  tree.Type
		mode uint32
		want string
	}{
		{tree.File, 0o644, "-rw-r--r--"}, {tree.Dir, 0o750, "drwxr-x---"}, {tree.Symlink, 0o777, "lrwxrwxrwx"}, {tree.Fifo, 0o600, "prw-------"},
		{tree.Socket, 0o755, "srwxr-xr-x"}, {tree.Char, 0o620, "crw--w----"}, {tree.Block, 0o660, "brw-rw----"},
		{tree.File, 0o4755, "-rwsr-xr-x"}, {tree.File, 0o2644, "-rw-r-Sr--"}, {tree.Dir, 0o1777, "drwxrwxrwt"}, {tree.Dir, 0o1770, "drwxrwx--T"}, {"new", 0, "?---------"},
	} {
		if got := modeText(c.typ, c.mode); got != c.want {
			t.Errorf("%s %o: %s, want %s", c.typ, c.mode, got, c.want)
		}
	}
}

// The list of files shows the type of each file at every width, and the target of a symlink.
func TestTypesOfFilesAreShown(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		m := testModel(withBackups(envelope(2*time.Hour, "")), w, 24)
		press(m, "B")
		filesOpen(m)
		for name, kind := range map[string]string{"home/agent/link -> workspace/api": "l", "home/agent/pipe": "p", "home/agent/": "d", "home/agent/note s.txt": "-"} {
			found := false
			for _, line := range strings.Split(screen(m), "\n") {
				line = strings.Trim(line, "│ ▸")
				found = found || strings.HasPrefix(line, kind) && strings.Contains(line, "  "+name[:min(len(name), 20)])
			}
			if !found {
				t.Errorf("%d cells: no %s with type %s:\n%s", w, name, kind, screen(m))
			}
		}
	}
}
