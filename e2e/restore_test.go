//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hermes-box/ops"
)

// export makes a backup, and writes it and the key of the box into files, as for another machine.
func export(t *testing.T, l *lab) {
	for _, file := range []string{l.exported(), l.exportedKey()} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
	}
	l.write(t, l.oddList(), []byte(l.python(t, listProgram, oddDir)))
	var made ops.BackupMade
	l.json(t, &made, "backup", "for-export")
	l.must(t, "backup", "export", made.ID, l.exported())
	l.must(t, "key", "export", l.exportedKey())
	if o := l.json(t, nil, "backup", "export", made.ID, l.exported()); o.OK || o.Error.Code != "already_exists" {
		t.Errorf("an export to an existing file: %+v", o)
	}
	l.must(t, "backup", "drill", made.ID, "--files")
}

// restore restores the box from the exported file as on another machine: with another config directory, another
// HERMES_BOX_HOME and an empty artifact cache. It gets only the exported file and the exported key from the first
// machine.
func restore(t *testing.T, l *lab) {
	other := l.other()
	if err := os.RemoveAll(other.root); err != nil {
		t.Fatal(err)
	}
	other.mkdir(t, other.root)
	other.mkdir(t, other.home())
	l.write(t, filepath.Join(other.root, "hermes-box.yaml"), fmt.Appendf(nil, `schema: 1
name: again
vm: {cpus: 2, memory: 4GiB, root_disk: 20GiB, data_disk: 12GiB}
ports: {executor: %d, dashboard: %d}
`, executorPort+1, dashboardPort+1))
	defer func() {
		if o := other.run(t, "", "destroy", "--force"); o.status != 0 {
			t.Errorf("destroy: %s", o.stderr)
		}
	}()
	var done ops.Restored
	other.json(t, &done, "restore", l.exported(), "--identity", l.exportedKey())
	if done.OldBox != "e2e" || len(done.Lost) != 0 || done.LockFile == "" || done.Key == nil || len(done.Components) != 6 {
		t.Errorf("restored %+v", done)
	}
	t.Logf("%d files, %d bytes from the backup %s", done.Entries, done.Bytes, done.Backup)

	want, err := os.ReadFile(l.oddList())
	if err != nil {
		t.Fatal(err)
	}
	if got := other.python(t, listProgram, oddDir); got != string(want) {
		t.Errorf("the files differ:\n%s", diff(t, string(want), got))
	}
	acknowledged, err := os.ReadFile(l.ackFile())
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Fields(other.python(t, checkProgram, dbDir))
	if len(rows) != 2 {
		t.Fatalf("databases: %q", rows)
	}
	for i, text := range strings.Fields(string(acknowledged)) {
		least, _ := strconv.Atoi(text)
		if have, err := strconv.Atoi(rows[i]); err != nil || have < least || least == 0 {
			t.Errorf("a database has %s rows; %s were acknowledged before the backup", rows[i], text)
		}
	}
}

// checkProgram checks the databases and prints the last row of each.
const checkProgram = `
import os, sqlite3, sys
for name in "wal", "delete":
    db = sqlite3.connect(os.path.join(sys.argv[1], name + ".db"))
    result = db.execute("PRAGMA integrity_check").fetchone()[0]
    assert result == "ok", result
    print(db.execute("SELECT max(id) FROM rows").fetchone()[0])
`

// diff returns the beginning of the output of diff -u.
func diff(t *testing.T, a, b string) string {
	t.Helper()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "want"), filepath.Join(dir, "got")
	for file, text := range map[string]string{one: a, two: b} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := exec.Command("diff", "-u", one, two).Output()
	return string(out[:min(len(out), 4000)])
}

// other returns another machine: another config directory and HERMES_BOX_HOME.
func (l *lab) other() *lab {
	other := *l
	other.root = filepath.Join(l.root, "other machine")
	return &other
}

func (l *lab) exported() string    { return filepath.Join(l.root, "e2e.hermes-box") }
func (l *lab) exportedKey() string { return filepath.Join(l.root, "e2e.age-identity") }
