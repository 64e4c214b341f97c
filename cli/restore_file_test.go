package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hermes-box/ops"
)

// exportedBox makes a box, and exports a backup of it and its key. It returns the paths of the exported backup and key,
// and what homeTree returns for the box.
func exportedBox(t *testing.T) (file, key, home string) {
	t.Helper()
	m := newMachine(t)
	m.makeOddBox()
	home = m.homeTree()
	file, key = filepath.Join(m.dir, "exported"), filepath.Join(m.dir, "exported-key")
	m.must("backup", "export", m.backupID(), file, "--quiet")
	m.must("key", "export", key, "--quiet")
	return file, key, home
}

// withoutSoftware removes the mirror and the releases of a machine, so that its software comes from an exported file only.
func (m *machine) withoutSoftware() {
	m.t.Helper()
	for _, dir := range []string{"mirror", "releases"} {
		if err := os.RemoveAll(filepath.Join(m.dir, dir)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// On another machine, restore brings back the data, the lock and the software with only the exported file and the
// exported key. If restore is killed, the next command removes everything that it made, including the imported backup.
func TestRestoreFromAFile(t *testing.T) {
	t.Parallel()
	onLinux(t)
	file, key, want := exportedBox(t)
	m := newMachine(t)
	if err := os.Remove(filepath.Join(m.dir, "hermes-box.lock")); err != nil {
		t.Fatal(err)
	}
	m.withoutSoftware()
	pool := filepath.Join(m.dir, "home/backups/main")
	restore := []string{"restore", file, "--identity", key}
	for _, step := range []string{"check", "fetch", "key", "within import", "import", "claim", "unpack"} {
		if within, ok := strings.CutPrefix(step, "within "); ok {
			m.signalAt(syscall.SIGKILL, func(e ops.Event) bool { return e.Kind == ops.Started && e.Step == within }, restore...)
		} else {
			m.killAfter(step, restore...)
		}
		cut := m.inventory()
		if made := !slices.Contains([]string{"check", "fetch"}, step); made != (len(cut) > 0) {
			t.Errorf("killed after %s, remaining: %v", step, cut)
		}
		if _, err := os.Stat(pool); step == "import" && err != nil {
			t.Errorf("killed after import, there is no pool: %v", err)
		}
		m.run("start", "--quiet")
		if left := m.inventory(); len(left) > 0 {
			t.Errorf("killed after %s, remaining: %v", step, left)
		}
		if _, err := os.Lstat(pool); err == nil {
			t.Errorf("killed after %s, the backups remain", step)
		}
	}
	done := decode[ops.Restored](t, m.must(append(restore, "--json")...)).Result
	if done.File != file || done.OldBox != "main" || done.Backup == "" || done.LockFile == "" {
		t.Errorf("%+v", done)
	}
	if got := m.homeTree(); got != want {
		t.Errorf("restored:\n%q\nwant:\n%q", got, want)
	}
	m.wantSound("a restore from a file")
	m.must("backup", "verify", done.Backup) // the imported backup belongs to the box now
	m.must("destroy", "--force", "--quiet")

	// Restore from the file again. Its backup is in the pool already, and stays there when the restore is undone.
	m.killAfter("import", restore...)
	m.run("start", "--quiet")
	if out := m.must("backup", "list"); !strings.Contains(out, done.Backup) {
		t.Errorf("the backup is gone: %s", out)
	}
	m.must(append(restore, "--quiet")...)
	m.wantSound("another restore from the file")
}

// A file that was exported with a passphrase needs only the passphrase, and a box of another name can be made from it.
func TestRestoreFromAFileWithPassphrase(t *testing.T) {
	t.Parallel()
	onLinux(t)
	old := newMachine(t)
	old.makeBox()
	file := filepath.Join(old.dir, "exported")
	c := old.cmd("", "backup", "export", old.backupID(), file, "--stdin", "--quiet")
	c.Stdin = strings.NewReader("correct horse battery\n")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	m := newMachine(t)
	config, err := os.ReadFile(filepath.Join(m.dir, "hermes-box.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m.write("hermes-box.yaml", bytes.Replace(config, []byte("name: main"), []byte("name: other"), 1))
	for _, try := range []struct{ passphrase, want string }{{"wrong horse battery", "the passphrase does not open the file"}, {"correct horse battery", ""}} {
		c := m.cmd("", "restore", file, "--stdin", "--quiet", "--mirror", m.mirror)
		c.Stdin = strings.NewReader(try.passphrase + "\n")
		out, err := c.CombinedOutput()
		switch {
		case try.want != "":
			if err == nil || !strings.Contains(string(out), try.want) || len(m.inventory()) > 0 {
				t.Errorf("%v %s", err, out)
			}
		case err != nil || !strings.Contains(string(out), "of box main"):
			t.Errorf("%v %s", err, out)
		}
	}
	m.wantSound("a restore with a passphrase")
}

// A file that is damaged or cut is refused before anything is made.
func TestRestoreRefusesADamagedFile(t *testing.T) {
	t.Parallel()
	onLinux(t)
	file, key, _ := exportedBox(t)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	flip := func(at int) []byte {
		damaged := slices.Clone(data)
		damaged[at] ^= 1
		return damaged
	}
	for name, damaged := range map[string][]byte{
		"the first byte": flip(0), "a byte in the middle": flip(len(data) / 2), "the last byte": flip(len(data) - 1),
		"cut": data[:len(data)-1], "cut in half": data[:len(data)/2], "empty": nil, "one byte longer": append(slices.Clone(data), 0), "not an export": []byte("hello\n"),
	} {
		m.write("damaged", damaged)
		out, _, err := m.run("restore", filepath.Join(m.dir, "damaged"), "--identity", key, "--json", "--mirror", m.mirror)
		if a := decode[any](t, out); err == nil || a.Error.Code != "integrity_failed" || a.Error.Recovery == "" {
			t.Errorf("%s: %v %s", name, err, out)
		}
		if left := m.inventory(); len(left) > 0 {
			t.Errorf("%s: remaining: %v", name, left)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(m.dir, "home/backups")); err != nil || len(entries) > 0 {
		t.Errorf("the directory of the backups holds %v: %v", entries, err)
	}
}
