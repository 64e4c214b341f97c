package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// namesIn returns the names in a directory.
func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// sweepGets removes the temporary directories of runs that were killed at any point of their work. It leaves the
// directory of a run that is under way, and everything that no run has made.
func TestSweepRemovesFilesOfKilledGets(t *testing.T) {
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	live, err := newScratch(dir)
	if err != nil || live.path != at(".hermes-box-get-1") {
		t.Fatal(live, err)
	}
	if err := os.Mkdir(at(".hermes-box-get-2"), 0o700); err != nil { // killed before the mark
		t.Fatal(err)
	}
	write(".hermes-box-get-3/"+getMark, "")
	write(".hermes-box-get-3/copies/dir/file", "half")
	if err := os.Chmod(at(".hermes-box-get-3/copies/dir"), 0o500); err != nil {
		t.Fatal(err)
	}
	write(".hermes-box-get-4/mine", "of the user")
	write(".hermes-box-get-5", "of the user")
	write("elsewhere/"+getMark, "")
	if err := os.Symlink("elsewhere", at(".hermes-box-get-6")); err != nil {
		t.Fatal(err)
	}
	write(fmt.Sprintf(".hermes-box-get-%d/%s", getSlots+1, getMark), "")
	sweepGets(dir)
	want := []string{".hermes-box-get-1", fmt.Sprintf(".hermes-box-get-%d", getSlots+1), ".hermes-box-get-4", ".hermes-box-get-5", ".hermes-box-get-6", "elsewhere"}
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
	if _, err := os.Stat(at("elsewhere", getMark)); err != nil {
		t.Error("what a link points to has changed:", err)
	}
	live.remove()
	if got := namesIn(t, dir); !slices.Equal(got, want[1:]) {
		t.Errorf("after the live one ended there is %v, want %v", got, want[1:])
	}
	for _, name := range []string{".hermes-box-get-5", ".hermes-box-get-6"} {
		if err := os.Remove(at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range getSlots {
		os.Mkdir(getSlot(dir, n+1), 0o700)
		write(filepath.Base(getSlot(dir, n+1))+"/x", "")
	}
	if _, err := newScratch(dir); fault.CodeOf(err) != fault.Busy {
		t.Errorf("without a free name: %v", err)
	}
}

// Two runs that copy into one directory at the same time do not disturb each other.
func TestGetTwiceAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	bundle := backedUp(t, tree.Entry{Path: []byte("file"), Type: tree.File, Mode: 0o600})
	other, err := newScratch(dir)
	if err != nil {
		t.Fatal(err)
	}
	sweepGets(dir)
	if _, err := getPaths(t.Context(), bundle, dir, "file"); err != nil {
		t.Fatal(err)
	}
	if got, want := namesIn(t, dir), []string{".hermes-box-get-1", "file"}; !slices.Equal(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
	other.remove()
}
