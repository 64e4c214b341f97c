package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/race"
	"hermes-box/ops"
)

// held lists the frozen file systems and the snapshots in the guest.
func (m *machine) held() []string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.lima(), "main", "guest", ".simulated.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	var state struct{ Held []string }
	if err := json.Unmarshal(data, &state); err != nil {
		m.t.Fatal(err)
	}
	return state.Held
}

// listed returns the ids of the listed backups.
func (m *machine) listed() (ids []string) {
	m.t.Helper()
	for _, e := range m.backups() {
		if !e.Good() {
			m.t.Errorf("%s is listed, and it is not good: %s", e.ID, e.Failed+e.Damaged)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

// wantReleased waits until the guest has ended its snapshots and freezes. The guest notices by itself that nobody reads
// the stream any more.
func (m *machine) wantReleased(after string) {
	m.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); len(m.held()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("after %s the guest still holds %q", after, m.held())
		}
	}
}

// wantNoSecret fails if a file of the state directory holds the age identity of the box. It skips the directories of
// the keys and of Lima.
func (m *machine) wantNoSecret(after string) {
	m.t.Helper()
	secret := []byte(m.secretOf())
	home := filepath.Join(m.dir, "home")
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(home, "keys")) || strings.HasPrefix(path, m.lima()) {
			return nil // a file may be gone by now
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, secret) {
			m.t.Errorf("after %s, %s holds a secret", after, path)
		}
		return nil
	})
	if err != nil {
		m.t.Error(err)
	}
}

// wantNoBackup fails unless the same backups are listed as before, and the next backup succeeds and leaves nothing of
// the interrupted one.
func (m *machine) wantNoBackup(after string, before []string) {
	m.t.Helper()
	if now := m.listed(); !slices.Equal(now, before) {
		m.t.Errorf("after %s these backups are listed: %q, before %q", after, now, before)
	}
	m.wantReleased(after)
	m.wantNoSecret(after)
	m.wantSoundAfterBackup(after)
}

// wantSoundAfterBackup makes a backup. It fails unless that backup is good, the box is sound, and nothing of an
// interrupted backup is left.
func (m *machine) wantSoundAfterBackup(after string) {
	m.t.Helper()
	m.must("exec", "--", "sh", "-c", "head -c 300000 /dev/urandom >/data/home/agent/work")
	m.must("backup", "--quiet")
	m.must("backup", "verify")
	if left, _ := os.ReadDir(filepath.Join(m.dir, "home", "backups", "main", "tmp")); len(left) > 0 {
		m.t.Errorf("after %s and another backup, left: %v", after, left)
	}
	m.wantSound(after)
	m.wantReleased("a backup after " + after)
}

// If backup is killed after any of its steps, no incomplete backup is listed, no snapshot or freeze stays in the
// guest, and the next backup succeeds.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	steps := m.steps("backup")
	if want := []string{"open", "copy", "keep"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	for _, step := range race.Sample(steps, 3) {
		before := m.listed()
		m.killAfter(step, "backup")
		after := "a backup that was killed at " + step
		if now := m.listed(); (now[0] == before[0]) != (step == "open") {
			t.Errorf("after %s: %q, before %q", after, now, before)
		}
		m.wantReleased(after)
		m.wantNoSecret(after)
		m.wantSoundAfterBackup(after)
	}
}

// cutter replaces ssh with a script that passes the streams of the guest's helper through cut-stream (see cutStream) while
// there is a file with the arguments WHAT and BYTES. cut writes that file; whole removes it.
func (m *machine) cutter() (cut func(what string, at any), whole func()) {
	m.t.Helper()
	path := filepath.Join(m.dir, "cut")
	m.script("ssh", `test -f `+path+` || exec $REAL "$@"
case "$*" in *"hermes-box-guest channel"*) exec cut-stream $(cat `+path+`) $REAL "$@";; esac
exec $REAL "$@"`)
	return func(what string, at any) { m.write("cut", fmt.Append(nil, what, " ", at)) }, func() {
		if err := os.Remove(path); err != nil {
			m.t.Fatal(err)
		}
	}
}

// A create that is interrupted or loses its connection during its first backup leaves a box that is ready, and warns
// that this backup was not made.
func TestCreateInterruptedInItsFirstBackup(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	cut, whole := m.cutter()
	for _, c := range []struct{ what, says string }{{cutHang, "its first backup was interrupted"}, {cutLose, "its first backup failed: "}} {
		cut(c.what, 0)
		create := m.cmd("", "create", "--events", "--mirror", m.mirror)
		events, err := create.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := create.Start(); err != nil {
			t.Fatal(err)
		}
		warned := ""
		lines := bufio.NewScanner(events)
		for lines.Scan() {
			var e ops.Event
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				continue
			}
			switch {
			case e.Kind == ops.Warning:
				warned += e.Line
			case c.what == cutHang && e.Kind == ops.Phase && e.Step == "backup" && e.Phase == "copy":
				if err := create.Process.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
			case e.Kind == ops.Undoing:
				t.Errorf("%s: create undoes %s", c.what, e.Step)
			}
		}
		if err := create.Wait(); err != nil || !strings.Contains(warned, c.says) || !strings.Contains(warned, "hermes-box backup") {
			t.Errorf("%s: %v; the warnings are %q", c.what, err, warned)
		}
		whole()
		if made := m.backups(); len(made) != 0 {
			t.Errorf("%s: listed: %v", c.what, made)
		}
		m.must("exec", "--", "sh", "-c", "echo mine > /data/home/agent/sentinel")
		m.wantSoundAfterBackup("a create whose first backup was cut: " + c.what)
		m.must("destroy", "--backups", "--confirm", "main", "--quiet")
	}
}

// If hermes-box is killed, the connection is lost, or the guest ends the stream early with status 0, at any byte of the
// stream of a backup, then no new backup is listed, no snapshot or freeze stays in the guest, and the next backup
// succeeds.
func TestBackupCutAtRandomBytes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	cut, whole := m.cutter()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for _, what := range []string{cutKill, cutLose, cutShort} {
		for try := range 4 {
			m.must("exec", "--", "sh", "-c", "head -c 300000 /dev/urandom >/data/home/agent/work")
			cut(cutCount, filepath.Join(m.dir, "bytes"))
			m.must("backup", "--full", "--quiet")
			whole()
			count, err := os.ReadFile(filepath.Join(m.dir, "bytes"))
			total, numErr := strconv.Atoi(string(count))
			if err != nil || numErr != nil || total < 300_000 {
				t.Fatalf("the stream has %q bytes: %v", count, err)
			}
			at := random.IntN(total)
			switch try {
			case 0:
				at = 0
			case 1:
				at = total - 1
			}
			before := m.listed()
			after := fmt.Sprintf("%s at byte %d of %d (seed %d)", what, at, total, seed)
			cut(what, at)
			c := m.cmd("", "backup", "--full", "--json")
			out, err := c.CombinedOutput()
			whole()
			killed := err != nil && c.ProcessState.Sys().(syscall.WaitStatus).Signaled()
			if killed != (what == cutKill) || err == nil {
				t.Errorf("%s: %v: %s", after, err, out)
			}
			m.wantNoBackup(after, before)
		}
	}
}
