package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes-box/internal/rehearsal"
)

// smallDir mounts a file system of a size, such as "8m", on a directory of the machine.
func (m *machine) smallDir(name, size string) (dir string) {
	m.t.Helper()
	dir = filepath.Join(m.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		m.t.Skip("NOT CHECKED: a small disk needs root: ", err)
	}
	m.t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// unmount removes the file system that smallDir has mounted.
func (m *machine) unmount(dir string) {
	m.t.Helper()
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		m.t.Fatal(err)
	}
}

// If the data disk gets full while a backup is restored, restore and drill say what to do and remove what they have made.
// With a larger disk the same commands work.
func TestRestoreOntoAFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.smallDir("probe", "1m") // skips the test without root
	id, want := m.makeLargeBox()
	kept := m.inventory()
	restore, drill := []string{"restore", id, "--mirror", m.mirror}, []string{"backup", "drill", id, "--mirror", m.mirror}
	inject(t, m, rehearsal.SmallDisk)
	for _, args := range [][]string{restore, drill} {
		out, stderr, err := m.run(append(args, "--json")...)
		a := decode[any](t, out)
		if err == nil || a.Error.Code != "preflight_failed" || !strings.Contains(a.Error.Message, "the data disk is full: ") ||
			!strings.Contains(a.Error.Message, "large") || !strings.Contains(a.Error.Recovery, "set a larger vm.data_disk in ") {
			t.Errorf("%s: %v: %s %s", args, err, out, stderr)
		}
		if remaining := m.inventory(); !slices.Equal(remaining, kept) {
			t.Fatalf("%s, remaining: %v, want %v", args, remaining, kept)
		}
		if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), m.lima()) {
			t.Errorf("%s: a disk is still mounted: %v", args, err)
		}
	}
	heal(t, m, rehearsal.SmallDisk)
	m.must(append(drill, "--quiet")...)
	m.wantRestorable(id, want, "a full disk")
}
