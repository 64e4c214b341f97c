package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A backup that does not fit on the disk says what to do, and destroy keeps the box.
func TestBackupOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.smallDir("home/backups/main", "8m")
	m.makeBox()
	m.must("exec", "--", "sh", "-c", "head -c 20000000 /dev/urandom >/data/home/agent/work")
	for _, args := range [][]string{{"backup", "--quiet"}, {"destroy", "--quiet"}} {
		_, stderr, err := m.run(args...)
		if err == nil || !strings.Contains(stderr, "the disk is full: ") || !strings.Contains(stderr, "df -h "+dir) {
			t.Errorf("%s: %v: %s", args[0], err, stderr)
		}
	}
	m.wantSound("a destroy without room for a backup")
}

// If the disk gets full at any point of a backup, no new backup is listed, and no snapshot or freeze stays in the guest.
// The first backup that has enough room succeeds, and removes what the failed ones left.
func TestBackupOnADiskThatGetsFull(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.smallDir("home/backups/main", "8m")
	m.makeBox()
	m.must("exec", "--", "sh", "-c", "head -c 200000 /dev/urandom >/data/home/agent/work")
	before := m.listed()
	filler := filepath.Join(dir, "filler")
	failed := 0
	for room := 0; ; room += 16 << 10 {
		if room > 4<<20 {
			t.Fatalf("with %d bytes free the disk is still full", room)
		}
		m.fill(filler, 8<<20, room)
		_, stderr, err := m.run("backup", "--quiet")
		if err == nil {
			break
		}
		failed++
		if !strings.Contains(stderr, "the disk is full: ") || !strings.Contains(stderr, "df -h "+dir) {
			t.Errorf("with %d bytes free: %s", room, stderr)
		}
		if now := m.listed(); !slices.Equal(now, before) {
			t.Errorf("with %d bytes free, listed: %q", room, now)
		}
		m.wantReleased("a backup onto a full disk")
	}
	t.Logf("%d times full", failed)
	if failed < 10 { // the file alone takes 12 times 16 KiB
		t.Errorf("the disk was full only %d times", failed)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	m.must("backup", "verify")
	m.wantNoSecret("backups onto a full disk")
	m.wantSoundAfterBackup("backups onto a full disk")
}

// fill writes a file that fills a file system of size bytes, except for about room bytes.
func (m *machine) fill(file string, size, room int) {
	m.t.Helper()
	_ = os.Remove(file)
	f, err := os.Create(file)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	written, page := 0, make([]byte, 4<<10)
	for written < size {
		if _, err := f.Write(page); err != nil {
			break
		}
		written += len(page)
	}
	if err := f.Truncate(int64(max(0, written-room))); err != nil {
		m.t.Fatal(err)
	}
}

// The verbs that write a lot fail on a full disk, say so, and leave nothing behind. When there is room again, the same
// command works.
func TestVerbsOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.smallDir("probe", "1m") // skips the test without root
	id, _ := m.makeLargeBox()
	file, got := filepath.Join(m.dir, "out/exported"), filepath.Join(m.dir, "got")
	m.write("out/notes", nil)
	m.must("backup", "export", id, filepath.Join(m.dir, "file"), "--quiet")
	m.must("key", "export", filepath.Join(m.dir, "key-file"), "--quiet")
	for _, c := range []struct {
		full string // the directory that is on a full disk
		args []string
		hint string
	}{
		{"home/drills", []string{"backup", "drill", id, "--files"}, "df -h "},
		{"out", []string{"backup", "export", id, file}, "enough space"},
		{"got", []string{"backup", "get", id, "/data/home/agent/large", "--to", got}, ""},
		{"home/backups", []string{"backup", "import", filepath.Join(m.dir, "file"), "--identity", filepath.Join(m.dir, "key-file")}, "df -h "},
		{"home/backups", []string{"restore", filepath.Join(m.dir, "file"), "--identity", filepath.Join(m.dir, "key-file"), "--mirror", m.mirror}, "df -h "},
	} {
		kept := m.inventory()
		dir := m.smallDir(c.full, "8m")
		out, stderr, err := m.run(append(c.args, "--json")...)
		a := decode[any](t, out)
		if err == nil || !strings.Contains(a.Error.Message, "no space left on device") || !strings.Contains(a.Error.Recovery, c.hint) || a.Error.Recovery == "" {
			t.Errorf("%q: %v: %s %s", c.args, err, out, stderr)
		}
		if remaining := m.inventory(); !slices.Equal(remaining, kept) {
			t.Errorf("%q: remaining %v, not %v", c.args, remaining, kept)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); slices.ContainsFunc(left, func(path string) bool { return filepath.Base(path) != "main" }) {
			t.Errorf("%q: left %q", c.args, left)
		}
		m.unmount(dir)
		if c.args[1] == "import" {
			m.must("backup", "delete", id, "--force", "--quiet")
		}
		m.must(append(c.args, "--quiet")...)
	}
	m.wantSound("a restore from a file")
}
