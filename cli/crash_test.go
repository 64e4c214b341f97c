package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/ops"
)

func TestInterruptedCreateLeavesNothing(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGQUIT} { // as typed: ^C and ^\
		t.Run(sig.String(), func(t *testing.T) { interruptedCreate(t, sig) })
	}
}

func interruptedCreate(t *testing.T, sig os.Signal) {
	m := newMachine(t)
	if err := rehearsal.Inject(m.lima(), rehearsal.HoldBoot); err != nil {
		t.Fatal(err)
	}
	c := m.cmd("", "create", "--json", "--events", "--mirror", m.mirror)
	var out bytes.Buffer
	c.Stdout = &out
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(stderr)
	sent := false
	for {
		var e ops.Event
		if dec.Decode(&e) != nil {
			break
		}
		if e.Kind == ops.Started && e.Step == "boot" && !sent {
			sent = true
			if _, _, err := m.run("stop"); err == nil {
				t.Error("stop during a create was not refused")
			} else if o, _, _ := m.run("stop", "--json"); !strings.Contains(o, `"code":"busy"`) || !strings.Contains(o, fmt.Sprint(c.Process.Pid)) {
				t.Errorf("the loser is told %s", o)
			}
			c.Process.Signal(sig)
		}
	}
	err = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(out.String(), `"code":"interrupted"`) {
		t.Errorf("interrupted create: %v, %s", err, out.String())
	}
	if left := m.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Killed in the middle of a step, no limactl goes on alone and makes what the next command has looked for in vain.
func TestCreateKilledWithinLimactl(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can end the children of a process that was killed")
	}
	m := newMachine(t)
	real, pidFile := m.limactl, filepath.Join(m.dir, "pid")
	if err := syscall.Mkfifo(pidFile, 0o600); err != nil {
		t.Fatal(err)
	}
	m.limactl = filepath.Join(m.dir, "bin", "slow")
	m.write("bin/slow", fmt.Appendf(nil, "#!/bin/sh\nif [ \"$1\" = create ]; then cat >%[1]s.in; echo $$ >%[1]s; sleep 1; exec %[2]s \"$@\" <%[1]s.in; fi\nexec %[2]s \"$@\"\n", pidFile, real))
	if err := os.Chmod(m.limactl, 0o755); err != nil {
		t.Fatal(err)
	}
	c := m.cmd("", "create", "--quiet", "--mirror", m.mirror)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(pidFile) // waits for limactl create to begin
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	c.Process.Kill()
	c.Wait()
	gone(t, pid, 30*time.Second)
	if left := m.left(); slices.Contains(left, "vm main") {
		t.Errorf("limactl went on alone: %v", left)
	}
}

// A destroy that was cut off before it removed anything is forgotten, not finished.
func TestDestroyCutOffAtOnceLosesNothing(t *testing.T) {
	m := newMachine(t)
	m.finished()
	m.write("home/boxes/main.operation", []byte(`{"operation":"destroy","started":"2026-01-01T00:00:00Z","step":"vm","made":["disk","vm"]}`))
	if out, _, _ := m.run("create", "--json"); !strings.Contains(out, `"code":"already_exists"`) {
		t.Errorf("create says %s", out)
	}
	if left := m.left(); !slices.Equal(left, []string{"main.json", "disk main-data", "vm main"}) {
		t.Errorf("left: %v", left)
	}
}

// A kill within Lima's own making or deleting of the disk leaves a directory that Lima cannot read: the next command
// gets past it.
func TestCutOffWithinTheDisk(t *testing.T) {
	for _, operation := range []string{"destroy", "create"} {
		m := newMachine(t)
		m.finished()
		if operation == "create" {
			data, err := os.ReadFile(filepath.Join(m.dir, "home/boxes/main.json"))
			if err != nil {
				t.Fatal(err)
			}
			m.write("home/boxes/main.json", bytes.Replace(data, []byte(`"ready":true`), []byte(`"ready":false`), 1))
		}
		m.write("home/boxes/main.operation", fmt.Appendf(nil, `{"operation":%q,"started":"2026-01-01T00:00:00Z","step":"disk","made":["disk"]}`, operation))
		half := filepath.Join(m.lima(), "_disks/main-data")
		for _, path := range []string{filepath.Join(m.lima(), "main"), filepath.Join(half, "datadisk")} {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		if out, stderr, err := m.run("destroy", "--force", "--quiet"); err != nil {
			t.Errorf("destroy after a %s that was cut off: %v %s%s", operation, err, out, stderr)
		}
		if left := m.left(); len(left) != 0 {
			t.Errorf("destroy after a %s that was cut off leaves %v", operation, left)
		}
		if _, err := os.Lstat(half); err == nil {
			t.Errorf("destroy after a %s that was cut off leaves what there is of the disk", operation)
		}
	}
}

// A destroy that was killed while Lima deleted the VM is ended by another, and no other command forgets it.
func TestCutOffWithinDeletingTheVM(t *testing.T) {
	for _, gone := range []string{"lima.yaml", "disk"} {
		m := newMachine(t)
		m.finished()
		m.write("home/boxes/main.operation", []byte(`{"operation":"destroy","started":"2026-01-01T00:00:00Z","step":"vm","made":["disk","vm"]}`))
		if err := os.Remove(filepath.Join(m.lima(), "main", gone)); err != nil {
			t.Fatal(err)
		}
		for _, next := range []string{"start", "stop", "create"} {
			if _, stderr, err := m.run(next, "--quiet"); err == nil || !strings.Contains(stderr, "destroy --force ends it") {
				t.Errorf("%s without %s: %v %s", next, gone, err, stderr)
			}
		}
		m.must("destroy", "--force", "--quiet")
		if left := m.left(); len(left) != 0 {
			t.Errorf("without %s, left: %v", gone, left)
		}
	}
}

// What is left of a VM is not offered to be stopped and started: there is none, and the data is still there.
func TestHalfAVMIsNoVM(t *testing.T) {
	m := newMachine(t)
	m.finished()
	if err := os.Remove(filepath.Join(m.lima(), "main", "lima.yaml")); err != nil {
		t.Fatal(err)
	}
	out, _, err := m.run("start", "--json")
	if a := decode[any](t, out); err == nil || a.Error.Code != "not_found" || !strings.Contains(a.Error.Message, "its data is kept on disk main-data") {
		t.Errorf("start: %v %s", err, out)
	}
	out, _, err = m.run("doctor")
	if err == nil || !strings.Contains(out, "is gone; its data is kept on disk main-data") || !strings.Contains(out, "deletes it with all its data") || strings.Contains(out, "hermes-box stop") {
		t.Errorf("doctor: %v %s", err, out)
	}
	m.must("stop", "--quiet")
	m.must("destroy", "--force", "--quiet")
}

// A destroy whose VM is gone has not been undone, and does not say so.
func TestDestroyThatRemovedTheVMIsNotUndone(t *testing.T) {
	m := newMachine(t)
	m.finished()
	inject(t, m, rehearsal.DiskDeleteSkipped)
	_, stderr, err := m.run("destroy", "--force")
	if err == nil || strings.Contains(stderr, "↩ undone") || !strings.Contains(stderr, `could not undo: remove the VM: box "main" is no longer whole`) {
		t.Errorf("%v %s", err, stderr)
	}
	heal(t, m, rehearsal.DiskDeleteSkipped)
	m.must("destroy", "--force", "--quiet")
}

// Ending a destroy that waits for a limactl that hangs does not wait for another.
func TestDestroyInterruptedWhileLimaHangs(t *testing.T) {
	m := newMachine(t)
	m.finished()
	inject(t, m, rehearsal.ListHangs)
	c := m.cmd("", "destroy", "--force", "--events")
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var begun time.Time
	for dec := json.NewDecoder(stderr); ; {
		var e ops.Event
		if dec.Decode(&e) != nil {
			break
		}
		if e.Kind == ops.Started && e.Step == "vm" {
			begun = time.Now()
			c.Process.Signal(os.Interrupt)
		}
	}
	c.Wait()
	if took := time.Since(begun); c.ProcessState.ExitCode() != exitInterrupted || took > 20*time.Second { // a list has 30
		t.Errorf("exit %d after %v", c.ProcessState.ExitCode(), took)
	}
	heal(t, m, rehearsal.ListHangs)
	if left := m.left(); !slices.Equal(left, []string{"main.json", "disk main-data", "vm main"}) {
		t.Errorf("left: %v", left)
	}
}

// What could not be undone stays on record, so that the next command can.
func TestFailedUndoIsRecoveredByTheNext(t *testing.T) {
	m := newMachine(t)
	real := m.limactl
	flag := filepath.Join(m.dir, "delete-fails")
	m.limactl = filepath.Join(m.dir, "bin", "wrapped")
	m.write("bin/wrapped", fmt.Appendf(nil, "#!/bin/sh\nfor a; do [ \"$a\" = delete ] && [ -e %s ] && { echo no >&2; exit 1; }; done\nexec %s \"$@\"\n", flag, real))
	m.write("delete-fails", nil)
	inject(t, m, rehearsal.StartFails)
	if err := os.Chmod(m.limactl, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"create", "--quiet", "--mirror", m.mirror}
	if _, stderr, err := m.run(args...); err == nil || !strings.Contains(stderr, "could not undo") {
		t.Fatalf("create whose undo fails: %v %s", err, stderr)
	}
	if left := m.left(); !slices.Contains(left, "main.json") || !slices.Contains(left, "vm main") {
		t.Fatalf("left: %v", left)
	}
	os.Remove(flag)
	heal(t, m, rehearsal.StartFails)
	if _, stderr, err := m.run(args...); err != nil {
		t.Errorf("the next create: %v %s", err, stderr)
	}
}

// What a command in the box is given may be a secret: the logs hold none of it.
func TestNoSecretInTheLogs(t *testing.T) {
	m := newMachine(t)
	m.finished()
	if _, stderr, err := m.run("limactl", "start", "--tty=false", "main"); err != nil {
		t.Fatal(err, stderr)
	}
	m.write("home/logs/commands.ndjson", nil)
	out, stderr, err := m.run("exec", "--", "printf", "%s", "sw0rdfish")
	t.Logf("%q %q %v", out, stderr, err)
	found := false
	err = filepath.WalkDir(filepath.Join(m.dir, "home"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		data, _ := os.ReadFile(path)
		found = found || strings.HasSuffix(path, "commands.ndjson") && bytes.Contains(data, []byte("ssh -F"))
		if bytes.Contains(data, []byte("sw0rdfish")) {
			t.Errorf("%s holds the secret", path)
		}
		return nil
	})
	if err != nil || !found {
		t.Errorf("no ssh in the command log: %v", err)
	}
}
