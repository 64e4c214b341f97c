package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If the directory of the backups is a symlink to a disk that is not mounted, no command takes the backups for missing,
// and destroy refuses. destroy --force removes the box and keeps the key; with --backups it refuses too.
func TestBackupsOnADiskThatIsNotMounted(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	id := m.backups()[0].ID
	link, mounted, away := filepath.Join(m.dir, "home", "backups"), filepath.Join(m.dir, "disk"), filepath.Join(m.dir, "unmounted")
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(link, away)
	if err := os.Symlink(mounted, link); err != nil {
		t.Fatal(err)
	}
	refused := func(args ...string) {
		t.Helper()
		out, _, err := m.run(append(args, "--json")...)
		if a := decode[any](t, out); err == nil || !strings.Contains(a.Error.Message, link+" is a symlink to "+mounted+", which is not there") || a.Error.Recovery == "" {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
	for _, args := range [][]string{{"backup", "list"}, {"backup"}, {"backup", "verify"}, {"backup", "verify", id}, {"backup", "delete", id, "--force"}, {"destroy"}, {"destroy", "--backups", "--confirm", "main"}} {
		refused(args...)
	}
	m.must("stop", "--quiet")
	refused("destroy", "--confirm", "main")
	refused("destroy", "--confirm", "main", "--backups", "--force")
	m.must("destroy", "--force", "--quiet")
	if out := m.must("status"); !strings.Contains(out, "which is not there") {
		t.Errorf("status: %s", out)
	}
	refused("restore", id)
	rename(away, mounted)
	if all := m.backups(); len(all) != 1 || all[0].ID != id {
		t.Errorf("listed: %+v", all)
	}
	m.must("backup", "verify", id)
}
