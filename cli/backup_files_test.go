package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-box/internal/race"
	"hermes-box/ops"
	"hermes-box/ops/backup"
)

// backups returns the listed backups, newest first.
func (m *machine) backups() []backup.Envelope {
	m.t.Helper()
	return decode[[]backup.Envelope](m.t, m.must("backup", "list", "--json")).Result
}

// loseSoftware removes the artifact cache, and the software that is kept with the backups.
func (m *machine) loseSoftware() {
	m.t.Helper()
	for _, dir := range []string{"artifacts", "backups/main/artifacts"} {
		if err := os.RemoveAll(filepath.Join(m.dir, "home", dir)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// An export fails if the software of the lock is missing and cannot be fetched. The error names the software, and no file
// is left. With a mirror, the export fetches the software.
func TestExportNeedsTheSoftware(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("backup", "--quiet")
	id := m.backups()[0].ID
	m.loseSoftware()
	out := filepath.Join(m.dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "file")
	_, stderr, err := m.run("backup", "export", id, file, "--quiet")
	if err == nil || !strings.Contains(stderr, "cannot be fetched: ") || !strings.Contains(stderr, "node.tgz") || !strings.Contains(stderr, "backup export "+id+" "+file+" --mirror DIR") {
		t.Errorf("%v: %s", err, stderr)
	}
	if entries, _ := os.ReadDir(out); len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
	m.must("backup", "export", id, file, "--quiet", "--mirror", m.mirror)
}

// An export that is killed after any step but the last leaves no file at the path that was asked for. The next export
// writes that file, and leaves no other.
func TestKilledExport(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("backup", "--quiet")
	id := m.backups()[0].ID
	out := filepath.Join(m.dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "file")
	steps := m.steps("backup", "export", id, file)
	if want := []string{"open", "software", "write", "check"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	for _, step := range race.Sample(steps, 3) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		m.killAfter(step, "backup", "export", id, file)
		if _, err := os.Lstat(file); (err == nil) != (step == "check") {
			t.Errorf("killed after %s: %v", step, err)
		}
		if step != "check" {
			m.must("backup", "export", id, file, "--quiet")
		}
		if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 || entries[0].Name() != "file" {
			t.Errorf("killed after %s: in the end the directory holds %v", step, entries)
		}
	}
	m.must("backup", "delete", id, "--force", "--quiet")
	got := decode[ops.BackupImported](t, m.must("backup", "import", file, "--json")).Result
	if got.ID != id || !got.Good() {
		t.Errorf("imported %+v", got)
	}
}
