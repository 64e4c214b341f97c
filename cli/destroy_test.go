package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/internal/ttytest"
	"hermes-box/ops"
)

// destroy keeps a box whose backup fails, and the box continues to run. --force destroys it.
func TestDestroyKeepsABoxThatCannotBeBackedUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	key := filepath.Join(m.dir, "home/keys/main.age-identity")
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	_, stderr, err := m.run("destroy", "--quiet")
	if err == nil || !strings.Contains(stderr, "the box is not destroyed, because its backup failed: ") || !strings.Contains(stderr, "; to remove box \"main\" and all its data without a backup: hermes-box destroy --force") {
		t.Errorf("%v: %s", err, stderr)
	}
	m.wantSound("a destroy whose backup failed")
	m.must("stop", "--quiet")
	if _, stderr, err := m.run("destroy", "--quiet", "--confirm", "main"); err == nil || !strings.Contains(stderr, "its backups cannot be opened") {
		t.Errorf("stopped: %v: %s", err, stderr)
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	chunks, err := filepath.Glob(filepath.Join(m.dir, "home/backups/main/chunks/*/*.age"))
	if err != nil || len(chunks) == 0 {
		t.Fatal(chunks, err)
	}
	for _, path := range chunks {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, err := m.run("destroy", "--quiet", "--confirm", "main"); err == nil || !strings.Contains(stderr, "has no verified backup") {
		t.Errorf("destroy without the chunks of the backup: %v: %s", err, stderr)
	}
	m.must("destroy", "--force", "--quiet")
}

// On a terminal, destroy asks for the name of the box if the box is stopped, or with --force or --backups. After another
// answer, an empty one or ctrl-c it changes nothing.
func TestDestroyAsksForTheName(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	for _, c := range []struct {
		name, typed, want string
		status            int
	}{
		{"another name", "mian" + enter, `the name of the box is "main", not "mian"; nothing is changed`, exitUsage},
		{"nothing", enter, "nothing is changed", exitUsage},
		{"y", "y" + enter, "nothing is changed", exitUsage},
		{"ctrl-c", ctrlC, "interrupted", exitInterrupted},
	} {
		tm := ttytest.Start(t, m.cmd("", "destroy", "--backups", "--quiet"), 160, 24)
		tm.Hears("Type the name of the box to destroy it: ")
		tm.Type(c.typed)
		tm.Shows(c.want)
		wantExit(t, tm, c.status)
		m.wantSound("a destroy that was answered with " + c.name)
	}
	forced := ttytest.Start(t, m.cmd("", "destroy", "--force", "--quiet"), 160, 24)
	forced.Hears("are removed, without a new backup")
	forced.Hears("Type the name of the box to destroy it: ")
	forced.Type("mian" + enter)
	forced.Shows("nothing is changed")
	wantExit(t, forced, exitUsage)
	m.wantSound("a destroy --force that was answered with another name")
	m.must("stop", "--quiet")
	tm := ttytest.Start(t, m.cmd("", "destroy", "--quiet"), 160, 24)
	tm.Hears("made ")
	tm.Hears("Type the name of the box to destroy it: ")
	tm.Type("main" + enter)
	tm.Shows("to bring the box back:")
	wantExit(t, tm, exitOK)
	id := m.backups()[0].ID
	m.must("restore", id, "--quiet", "--mirror", m.mirror)
	tm = ttytest.Start(t, m.cmd("", "destroy", "--backups", "--quiet"), 160, 24)
	tm.Hears("Type the name of the box to destroy it: ")
	tm.Type("main" + enter)
	tm.Shows("removed with it: ")
	wantExit(t, tm, exitOK)
	m.wantNothing()
}

// destroy --backups removes only the files of the pool. If there are other files in its directory, they stay, and so
// does the key.
func TestDestroyLeavesOtherFilesAmongTheBackups(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	for _, name := range []string{"notes.txt", "chunks/ab/notes.txt", "artifacts/sha256/notes.txt"} {
		m.write("home/backups/main/"+name, []byte("mine"))
	}
	out, stderr, err := m.run("destroy", "--backups", "--confirm", "main", "--json")
	gone := decode[ops.Destroyed](t, out).Result
	if err != nil || gone.Removed != 1 || gone.Key == nil || gone.Backups == "" || !strings.Contains(stderr, "are left, and so is the key") {
		t.Errorf("%v: %+v, %s", err, gone, stderr)
	}
	var left []string
	err = filepath.WalkDir(filepath.Join(m.dir, "home/backups/main"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			left = append(left, d.Name())
		}
		return err
	})
	if err != nil || strings.Join(left, " ") != "notes.txt notes.txt notes.txt" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A box whose backup is partial is not destroyed without --force, running or stopped.
func TestDestroyKeepsABoxWhoseBackupIsPartial(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("backup", "delete", m.backups()[0].ID, "--force", "--quiet")
	if _, stderr, err := m.run("exec", "--", "mknod", "odd", "c", "1", "3"); err != nil { // devices are not backed up
		t.Skip("NOT CHECKED: this user cannot make a device:", stderr)
	}
	_, stderr, err := m.run("destroy", "--quiet")
	if err == nil || !strings.Contains(stderr, "is partial: 1 file could not be read") || !strings.Contains(stderr, "hermes-box destroy --force") {
		t.Errorf("%v: %s", err, stderr)
	}
	m.wantSound("a destroy whose backup was partial")
	m.must("stop", "--quiet")
	if _, stderr, err := m.run("destroy", "--confirm", "main", "--quiet"); err == nil || !strings.Contains(stderr, "has no verified backup") {
		t.Errorf("stopped: %v: %s", err, stderr)
	}
	m.must("destroy", "--force", "--quiet")
}

// A backup reuses the data of earlier backups without reading it. If that data is damaged on the disk, destroy refuses,
// whether or not the box runs, and the next backup stores the data again.
func TestDestroyReadsItsBackup(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	m.must("exec", "--", "sh", "-c", "head -c 3000000 /dev/urandom >/data/home/agent/work; sha256sum /data/home/agent/work >/data/home/agent/sum")
	m.must("backup", "--quiet")
	m.damageChunks()
	m.must("stop", "--quiet")
	for range 5 { // a backup that destroy has found damaged no longer counts, so the next destroy reads an older one
		_, stderr, err := m.run("destroy", "--quiet", "--confirm", "main")
		if err == nil || !strings.Contains(stderr, "destroy --force") {
			t.Fatalf("a destroy of a stopped box whose backups are damaged: %v: %s", err, stderr)
		}
		if strings.Contains(stderr, "has no verified backup") {
			break
		}
		if !strings.Contains(stderr, "the box is not destroyed: the backup ") {
			t.Errorf("stopped: %s", stderr)
		}
	}
	m.must("start", "--quiet")
	m.must("backup", "--quiet") // reads every file, because the backups were found damaged
	m.must("backup", "verify", m.backups()[0].ID)

	for _, e := range m.backups()[1:] {
		m.must("backup", "delete", e.ID, "--quiet")
	}
	m.damageChunks()
	_, stderr, err := m.run("destroy", "--quiet")
	if err == nil || !strings.Contains(stderr, "the box is not destroyed, because its backup failed: ") || !strings.Contains(stderr, "backup --full") {
		t.Fatalf("a destroy of a running box whose backup is damaged: %v: %s", err, stderr)
	}
	m.wantSound("a destroy whose backup is damaged")
	m.must("destroy", "--quiet")
	m.must("restore", m.backups()[0].ID, "--quiet", "--mirror", m.mirror)
	m.must("exec", "--", "sha256sum", "-c", "/data/home/agent/sum")
}

// A backup can be deleted while another one is damaged. No chunk is removed then, since the damaged one may need it.
func TestDeleteBesideADamagedBackup(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	first, second := m.backupID(), m.backupID()
	m.must("backup", "--quiet")
	path := filepath.Join(m.dir, "home/backups/main", second+".age")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, err := m.run("backup", "delete", first)
	if err != nil || !strings.Contains(stderr, "no data is removed from the disk, because "+second) {
		t.Errorf("%v: %s %s", err, out, stderr)
	}
}

// A backup that was imported from a box of the same name on another machine does not count as one of this box.
func TestDestroyDoesNotCountAnImportedBackup(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m, other := newMachine(t), newMachine(t)
	m.makeBox()
	own := m.backups()[0].ID
	other.makeBox()
	foreign := other.backupID()
	file, key := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "key")
	other.must("backup", "export", foreign, file)
	other.must("key", "export", key)
	m.must("stop", "--quiet")
	m.must("backup", "import", file, "--identity", key)
	if len(m.backups()) != 2 {
		t.Fatalf("%+v", m.backups())
	}
	out, _, err := m.run("destroy", "--json")
	if err == nil || !strings.Contains(out, own) || strings.Contains(out, foreign) {
		t.Errorf("destroy: %v %s", err, out)
	}
	m.must("backup", "delete", own, "--force")
	if out, _, err := m.run("destroy", "--json", "--confirm", "main"); err == nil || !strings.Contains(out, "has no verified backup") {
		t.Errorf("destroy with only an imported backup: %v %s", err, out)
	}
	m.must("start", "--quiet")
	m.wantSound("a destroy that was refused")
}

// A destroy that is finished while the backups are away keeps the key that opens them.
func TestDestroyWithoutItsBackupsKeepsTheKey(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("stop", "--quiet")
	pool := filepath.Join(m.dir, "home/backups/main")
	away := pool + ".away"
	if err := os.Rename(pool, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(pool, 0o700); err != nil { // as the mount point of a disk that is not mounted
		t.Fatal(err)
	}
	m.must("destroy", "--force", "--quiet")
	if err := os.Remove(pool); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, pool); err != nil {
		t.Fatal(err)
	}
	m.must("backup", "verify", "latest", "--quiet")
	m.must("destroy", "--backups", "--confirm", "main", "--quiet")
	if left, _ := filepath.Glob(filepath.Join(m.dir, "home/keys/main*")); len(left) > 0 {
		t.Errorf("destroy --backups leaves %q", left)
	}
}
