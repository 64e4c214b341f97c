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
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGQUIT} { // ^C and ^\
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
				t.Errorf("stop during a create says %s", o)
			}
			c.Process.Signal(sig)
		}
	}
	err = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(out.String(), `"code":"interrupted"`) {
		t.Errorf("interrupted create: %v, %s", err, out.String())
	}
	if remaining := m.inventory(); len(remaining) != 0 {
		t.Errorf("remaining: %v", remaining)
	}
}

// If hermes-box is killed in the middle of a step, its limactl dies with it and makes nothing afterwards.
func TestCreateKilledWithinLimactl(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can kill the children of a killed process")
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
	waitForExit(t, pid, 30*time.Second)
	if remaining := m.inventory(); slices.Contains(remaining, "vm main") {
		t.Errorf("limactl kept running and made the VM: %v", remaining)
	}
}

// If a destroy was interrupted before it removed anything, the next create drops its journal and removes nothing.
func TestDestroyInterruptedBeforeItsFirstStepLosesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	m.write("home/boxes/main.operation", []byte(`{"operation":"destroy","started":"2026-01-01T00:00:00Z","step":"vm","made":["disk","vm"]}`))
	if out, _, _ := m.run("create", "--json"); !strings.Contains(out, `"code":"already_exists"`) {
		t.Errorf("create says %s", out)
	}
	if remaining := m.inventory(); !slices.Equal(remaining, []string{"main.json", "disk main-data", "vm main"}) {
		t.Errorf("remaining: %v", remaining)
	}
}

// A kill while Lima creates or deletes the disk leaves a directory that Lima cannot read: destroy removes it.
func TestKilledWhileLimaHandlesTheDisk(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"destroy", "create"} {
		m := newMachine(t)
		m.makeStoppedBox()
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
			t.Errorf("destroy after an interrupted %s: %v %s%s", operation, err, out, stderr)
		}
		if remaining := m.inventory(); len(remaining) != 0 {
			t.Errorf("destroy after an interrupted %s leaves %v", operation, remaining)
		}
		if _, err := os.Lstat(half); err == nil {
			t.Errorf("destroy after an interrupted %s leaves the directory of the disk", operation)
		}
	}
}

// If a destroy was killed while Lima deleted the VM, only another destroy finishes it; the other verbs keep its
// journal.
func TestKilledWhileLimaDeletesTheVM(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"lima.yaml", "disk"} {
		m := newMachine(t)
		m.makeStoppedBox()
		m.write("home/boxes/main.operation", []byte(`{"operation":"destroy","started":"2026-01-01T00:00:00Z","step":"vm","made":["disk","vm"]}`))
		if err := os.Remove(filepath.Join(m.lima(), "main", missing)); err != nil {
			t.Fatal(err)
		}
		for _, next := range []string{"start", "stop", "create"} {
			if _, stderr, err := m.run(next, "--quiet"); err == nil || !strings.Contains(stderr, "to finish it: hermes-box destroy --force") {
				t.Errorf("%s without %s: %v %s", next, missing, err, stderr)
			}
		}
		m.must("destroy", "--force", "--quiet")
		if remaining := m.inventory(); len(remaining) != 0 {
			t.Errorf("without %s, remaining: %v", missing, remaining)
		}
	}
}

// start and doctor report an incomplete VM directory as a VM that is gone, and say that the data is kept. doctor
// does not suggest stop.
func TestIncompleteVMIsReportedAsGone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	if err := os.Remove(filepath.Join(m.lima(), "main", "lima.yaml")); err != nil {
		t.Fatal(err)
	}
	out, _, err := m.run("start", "--json")
	if a := decode[any](t, out); err == nil || a.Error.Code != "not_found" || !strings.Contains(a.Error.Message, "its data is kept on disk main-data") {
		t.Errorf("start: %v %s", err, out)
	}
	out, _, err = m.run("doctor")
	if err == nil || !strings.Contains(out, "is gone; its data is kept on disk main-data") || !strings.Contains(out, "to delete it with all its data: hermes-box destroy --force") || strings.Contains(out, "hermes-box stop") {
		t.Errorf("doctor: %v %s", err, out)
	}
	m.must("stop", "--quiet")
	m.must("destroy", "--force", "--quiet")
}

// A destroy that fails after it has removed the VM does not say that it was undone.
func TestDestroyThatRemovedTheVMIsNotUndone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	inject(t, m, rehearsal.DiskDeleteSkipped)
	_, stderr, err := m.run("destroy", "--force")
	if err == nil || strings.Contains(stderr, "↩ undone") || !strings.Contains(stderr, `could not undo: remove the VM: part of box "main" is already removed`) {
		t.Errorf("%v %s", err, stderr)
	}
	heal(t, m, rehearsal.DiskDeleteSkipped)
	m.must("destroy", "--force", "--quiet")
}

// A destroy that fails before it has removed anything does not say that it has undone the removal, and leaves no
// journal. Here limactl list prints nothing with status 0 although the VM is there.
func TestDestroyThatRemovedNothingUndoesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	real := m.limactl
	m.limactl = filepath.Join(m.dir, "silent-limactl")
	script := "#!/bin/sh\n[ \"$1\" = list ] && exit 0\nexec '" + real + "' \"$@\"\n"
	if err := os.WriteFile(m.limactl, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, stderr, err := m.run("destroy", "--force")
	if err == nil || strings.Contains(stderr, "undo") || !strings.Contains(stderr, "limactl list does not show instance main") {
		t.Errorf("%v %s", err, stderr)
	}
	m.limactl = real
	if out := m.must("status"); strings.Contains(out, "cut off") {
		t.Errorf("status: %s", out)
	}
	m.must("destroy", "--force", "--quiet")
}

// A destroy that stops the VM but cannot delete it says that the VM is stopped.
func TestDestroyThatOnlyStoppedTheVMSaysSo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBootedBox()
	real := m.limactl
	m.limactl = filepath.Join(m.dir, "limactl-without-delete")
	script := "#!/bin/sh\n[ \"$1\" = delete ] && { echo no >&2; exit 1; }\nexec '" + real + "' \"$@\"\n"
	if err := os.WriteFile(m.limactl, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, stderr, err := m.run("destroy", "--force")
	if err == nil || strings.Contains(stderr, "↩ undone") || !strings.Contains(stderr, "not undone: remove the VM: the VM is stopped, but nothing is removed") {
		t.Errorf("%v %s", err, stderr)
	}
	m.limactl = real
	m.waitForState("stopped")
	m.must("destroy", "--force", "--quiet")
}

// A destroy that is interrupted while limactl hangs does not call limactl again.
func TestDestroyInterruptedWhileLimaHangs(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
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
	if took := time.Since(begun); c.ProcessState.ExitCode() != exitInterrupted || took > 20*time.Second { // the timeout of limactl list is 20 s
		t.Errorf("exit %d after %v", c.ProcessState.ExitCode(), took)
	}
	heal(t, m, rehearsal.ListHangs)
	if remaining := m.inventory(); !slices.Equal(remaining, []string{"main.json", "disk main-data", "vm main"}) {
		t.Errorf("remaining: %v", remaining)
	}
}

// If undoing fails, the journal stays, so that the next command can undo the operation.
func TestFailedUndoIsRecovered(t *testing.T) {
	t.Parallel()
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
	if remaining := m.inventory(); !slices.Contains(remaining, "main.json") || !slices.Contains(remaining, "vm main") {
		t.Fatalf("remaining: %v", remaining)
	}
	os.Remove(flag)
	heal(t, m, rehearsal.StartFails)
	if _, stderr, err := m.run(args...); err != nil {
		t.Errorf("the next create: %v %s", err, stderr)
	}
}

// The arguments of exec may be secrets: no log holds them.
func TestNoSecretInTheLogs(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
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
