package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hermes-box/ops"
)

// If backup get or backup export is killed, the next run of the same command removes the temporary files of the killed
// one from the user's directory. backup get removes them even if it then finds that a name exists already.
func TestFilesOfAKilledCopyAreRemoved(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("exec", "--", "sh", "-c", "mkdir /data/home/agent/dir; head -c 30000000 /dev/urandom >/data/home/agent/dir/large; chmod 500 /data/home/agent/dir")
	m.must("backup", "--quiet")
	id := m.backups()[0].ID
	to := filepath.Join(m.dir, "to")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	inTo := func() (names []string) {
		entries, err := os.ReadDir(to)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	wantIn := func(after string, want ...string) {
		t.Helper()
		if got := inTo(); !slices.Equal(got, want) {
			t.Fatalf("after %s the directory holds %q, want %q", after, got, want)
		}
	}
	clear := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(to, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	get := []string{"backup", "get", id, "/home/agent/dir", "--to", to}

	m.killAfter("get", get...)
	wantIn("a kill after all copies are in place", ".hermes-box-get-1", "dir")
	if _, stderr, err := m.run(get...); err == nil || !strings.Contains(stderr, "exists already") {
		t.Errorf("%v %s", err, stderr)
	}
	wantIn("a get that fails", "dir")
	clear("dir")
	for try := 1; ; try++ { // the kill can come too late
		m.signalAt(syscall.SIGKILL, func(e ops.Event) bool { return e.Step == "get" && e.Kind == ops.Bytes }, get...)
		if names := inTo(); slices.Equal(names, []string{".hermes-box-get-1"}) {
			break
		} else if try == 10 {
			t.Fatalf("no kill was in time: %q", names)
		}
		clear("dir", ".hermes-box-get-1")
	}
	m.must(get...)
	wantIn("get", "dir")
	clear("dir")

	export := []string{"backup", "export", id, filepath.Join(to, "file")}
	left := ".file.hermes-box-export"
	m.killAfter("write", export...)
	wantIn("a kill of export", left)
	m.must(export...)
	wantIn("export", "file")
}
