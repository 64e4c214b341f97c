package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-box/internal/race"
	"hermes-box/ops"
)

// inDrills lists the directory with the drills of the box.
func (m *machine) inDrills() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(m.dir, "home/drills/main"))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A drill restores the files, compares them, leaves only its report, and does not need the box.
func TestDrillFiles(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeOddBox()
	m.must("exec", "--", "sh", "-c", `cd /data/home/agent/odd && mkdir -p locked/in && echo x >locked/in/f && echo y >secret && chmod 000 secret locked/in/f && chmod 500 locked locked/in`)
	before := m.homeTree()
	id := m.backupID()
	drill := []string{"backup", "drill", "--files", "--json"}
	done := decode[ops.Drill](t, m.must(drill...)).Result
	if done.Backup != id || done.Into != "files" || done.Entries < 20 || done.Bytes < 3000000 || done.Expected == "" || done.Expected != done.Found || done.Different != 0 {
		t.Errorf("%+v", done)
	}
	if !slices.ContainsFunc(done.NotCompared, func(text string) bool {
		return strings.HasPrefix(text, "sockets, pipes and devices, which are not written: 1")
	}) {
		t.Errorf("not compared: %q", done.NotCompared)
	}
	var report ops.Drill
	text, err := os.ReadFile(done.Report)
	if err != nil || json.Unmarshal(text, &report) != nil || report.Found != done.Found {
		t.Errorf("%v %s", err, text)
	}
	if out := m.must("backup", "list"); !strings.Contains(out, ", restored as a trial ") {
		t.Errorf("list after a drill: %s", out)
	}
	if left := m.inDrills(); !slices.Equal(left, []string{filepath.Base(done.Report)}) {
		t.Errorf("left: %q", left)
	}
	m.wantSound("a drill")
	if after := m.homeTree(); after != before {
		t.Errorf("the drill has changed the box:\n%q\nwas\n%q", after, before)
	}
	m.must("destroy", "--force", "--quiet")
	if again := decode[ops.Drill](t, m.must(append(drill, id)...)).Result; again.Found != done.Found {
		t.Errorf("another drill of the same backup has the digest %s, want %s", again.Found, done.Found)
	}
	if out := m.must("backup", "drill", "--files", "--quiet"); !strings.Contains(out, "✓ backup "+id+" can be restored") {
		t.Errorf("drill: %s", out)
	}
}

// If a drill is killed, the next restart removes the files that the drill has restored, even those that are not
// writable.
func TestKilledDrillFiles(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeOddBox()
	m.must("exec", "--", "sh", "-c", `cd /data/home/agent/odd && mkdir locked && echo x >locked/f && chmod 500 locked`)
	m.backupID()
	drill := []string{"backup", "drill", "--files"}
	steps := m.steps(drill...)
	if want := []string{"open", "files", "compare", "report", "remove"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	inventory := m.inventory()
	for _, step := range race.Sample(steps, 3) {
		m.killAfter(step, drill...)
		if there := slices.Contains(m.inDrills(), "files"); there != slices.Contains([]string{"files", "compare", "report"}, step) {
			t.Errorf("killed after %s, the directory of the drills holds %q", step, m.inDrills())
		}
		m.must("restart", "--quiet")
		if left := m.inDrills(); slices.Contains(left, "files") {
			t.Errorf("killed after %s, remaining: %q", step, left)
		}
		if remaining := m.inventory(); !slices.Equal(remaining, inventory) {
			t.Errorf("killed after %s, remaining: %v, want %v", step, remaining, inventory)
		}
		m.must(append(drill, "--quiet")...)
	}
	m.wantSound("the drills")
}

// A drill of a damaged backup fails, and leaves nothing. A backup that does not exist cannot be drilled.
func TestDrillFilesOfADamagedBackup(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	fails := func(code string, args ...string) {
		t.Helper()
		out, _, err := m.run(append([]string{"backup", "drill", "--files", "--json"}, args...)...)
		if a := decode[any](t, out); err == nil || a.Error.Code != code || a.Error.Recovery == "" {
			t.Errorf("%v %s", err, out)
		}
		if left := m.inDrills(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
	m.must("backup", "delete", m.backups()[0].ID, "--force", "--quiet")
	fails("not_found")
	m.must("exec", "--", "sh", "-c", "head -c 100000 /dev/urandom >/data/home/agent/work")
	m.backupID()
	fails("not_found", "nothing")
	m.damageChunks()
	fails("integrity_failed")
}

// A drill removes no directory that it has not made.
func TestDrillFilesLeavesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	mine := filepath.Join(m.dir, "home", "drills", "main", "files", "mine")
	if err := errors.Join(os.MkdirAll(filepath.Dir(mine), 0o755), os.WriteFile(mine, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	out, _, err := m.run("backup", "drill", "--files", "--json")
	if a := decode[any](t, out); err == nil || a.Error.Code != "already_exists" || a.Error.Recovery == "" {
		t.Errorf("%v %s", err, out)
	}
	m.must("backup", "--quiet") // finds no killed drill, so it removes nothing
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}
