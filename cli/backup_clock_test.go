package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If the backups were made under a wrong clock, latest is the one that was made last, and commands that take it warn.
func TestLatestWarnsOfAWrongClock(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	if _, stderr, err := m.run("backup", "show", "latest"); err != nil || strings.Contains(stderr, "clock") {
		t.Errorf("%v: %s", err, stderr)
	}
	// A backup of an earlier time, whose record and name say 2090.
	id := m.backupID()
	for _, end := range []string{".json", ".age"} {
		path := filepath.Join(m.dir, "home/backups/main", id+end)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m.write("home/backups/main/20900101T000000Z"+end, data)
	}
	if _, stderr, err := m.run("backup", "show", "latest"); err != nil || !strings.Contains(stderr, id+" was made last, although 1 earlier backup, such as 20900101T000000Z, has a later time") {
		t.Errorf("%v: %s", err, stderr)
	}
	if _, stderr, err := m.run("backup", "show", id); err != nil || strings.Contains(stderr, "clock") {
		t.Errorf("%v: %s", err, stderr)
	}
	if out, _, _ := m.run("doctor"); !strings.Contains(out, "has a later time: a clock was wrong") || !strings.Contains(out, "date; hermes-box backup list") {
		t.Errorf("doctor: %s", out)
	}
	m.must("stop", "--quiet")
	if _, stderr, err := m.run("destroy"); err == nil || !strings.Contains(stderr, "has a later time: a clock was wrong") {
		t.Errorf("%v: %s", err, stderr)
	}
}
