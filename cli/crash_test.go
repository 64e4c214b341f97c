package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/limactl/rehearsal"
	"hermes-box/ops"
)

// plan is the steps of create that ended well, as the program itself announces them; the rehearsal guest has no
// helper, so that create fails at that step and undoes.
func (m *machine) plan() (done []string) {
	m.t.Helper()
	_, stderr, err := m.run("create", "--events", "--mirror", filepath.Join(m.dir, "mirror"))
	if err == nil {
		m.t.Fatal("create ended well without a guest")
	}
	var failed string
	for line := range strings.Lines(stderr) {
		var e ops.Event
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		switch e.Kind {
		case ops.Done:
			done = append(done, e.Step)
		case ops.Failed:
			failed = e.Step + ": " + e.Error
		}
	}
	if !strings.HasPrefix(failed, "helper: ") {
		m.t.Fatalf("create failed at %s\n%s", failed, stderr)
	}
	return done
}

func TestCreateKilledAfterEachStepIsUndoneByTheNext(t *testing.T) {
	m := newMachine(t)
	if err := os.MkdirAll(m.lima(), 0o700); err != nil {
		t.Fatal(err)
	}
	m.makeVM("stranger", "stranger")
	stranger := []string{"disk stranger", "vm stranger"}
	steps := m.plan()
	if left := m.left(); !slices.Equal(left, stranger) {
		t.Fatalf("a failed create left %v", left)
	}
	if len(steps) < 6 {
		t.Fatalf("only %v ended well", steps)
	}
	for _, step := range steps {
		c := m.cmd(step, "create", "--quiet", "--mirror", filepath.Join(m.dir, "mirror"))
		err := c.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
			t.Fatalf("after %s the process was not killed: %v", step, err)
		}
		cut := m.left()
		if step != "preflight" && slices.Equal(cut, stranger) {
			t.Errorf("killed after %s, nothing is left: the kill did not land where it should", step)
		}
		if out, _, err := m.run("status", "--json"); err != nil || !strings.Contains(out, `"ok":true`) {
			t.Errorf("status after a kill at %s: %v %s", step, err, out)
		}
		if _, stderr, err := m.run("create", "--quiet", "--mirror", filepath.Join(m.dir, "mirror")); err == nil || !strings.Contains(stderr, "helper") {
			t.Errorf("the create after a kill at %s: %v\n%s", step, err, stderr)
		}
		if left := m.left(); !slices.Equal(left, stranger) {
			t.Fatalf("killed after %s, recovered, left: %v (was %v)", step, left, cut)
		}
	}
}

func TestInterruptedCreateLeavesNothing(t *testing.T) {
	m := newMachine(t)
	if err := rehearsal.Inject(m.lima(), rehearsal.HoldBoot); err != nil {
		t.Fatal(err)
	}
	c := m.cmd("", "create", "--json", "--events", "--mirror", filepath.Join(m.dir, "mirror"))
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
			c.Process.Signal(os.Interrupt)
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

// A box whose record is ready stands for one that create has finished.
func TestDestroyKilledAfterEachStepIsFinishedByTheNext(t *testing.T) {
	for _, step := range []string{"vm", "disk", "forget"} {
		m := newMachine(t)
		m.finished()
		if out, _, err := m.run("destroy", "--json"); err == nil || !strings.Contains(out, `"code":"preflight_failed"`) {
			t.Errorf("destroy without --force: %v %s", err, out)
		}
		c := m.cmd(step, "destroy", "--force", "--quiet")
		if err := c.Run(); err == nil || c.ProcessState.ExitCode() != -1 {
			t.Fatalf("after %s the process was not killed: %v", step, err)
		}
		if step != "forget" {
			before := m.left()
			if _, stderr, err := m.run("create", "--quiet", "--mirror", filepath.Join(m.dir, "mirror")); err == nil || !strings.Contains(stderr, "destroy --force ends it") {
				t.Errorf("create after a destroy cut off at %s: %v %s", step, err, stderr)
			}
			if left := m.left(); !slices.Equal(left, before) {
				t.Errorf("create ended the destroy cut off at %s: %v, was %v", step, left, before)
			}
			if _, stderr, err := m.run("start"); err == nil || !strings.Contains(stderr, "destroy --force ends it") {
				t.Errorf("start after a destroy cut off at %s: %v %s", step, err, stderr)
			}
			if _, stderr, err := m.run("destroy", "--force", "--quiet"); err != nil {
				t.Errorf("destroy after a kill at %s: %v %s", step, err, stderr)
			}
		}
		if left := m.left(); len(left) != 0 {
			t.Errorf("killed after %s, finished, left: %v", step, left)
		}
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
	c := m.cmd("", "create", "--quiet", "--mirror", filepath.Join(m.dir, "mirror"))
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
	for deadline := time.Now().Add(30 * time.Second); syscall.Kill(pid, 0) == nil && time.Now().Before(deadline); {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || bytes.Contains(stat, []byte(") Z ")) {
			break // dead, and waits for somebody to reap it
		}
		time.Sleep(20 * time.Millisecond)
	}
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

// What could not be undone stays on record, so that the next command can.
func TestFailedUndoIsRecoveredByTheNext(t *testing.T) {
	m := newMachine(t)
	real := m.limactl
	flag := filepath.Join(m.dir, "delete-fails")
	m.limactl = filepath.Join(m.dir, "bin", "wrapped")
	m.write("bin/wrapped", fmt.Appendf(nil, "#!/bin/sh\nfor a; do [ \"$a\" = delete ] && [ -e %s ] && { echo no >&2; exit 1; }; done\nexec %s \"$@\"\n", flag, real))
	m.write("delete-fails", nil)
	if err := os.Chmod(m.limactl, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"create", "--quiet", "--mirror", filepath.Join(m.dir, "mirror")}
	if _, stderr, err := m.run(args...); err == nil || !strings.Contains(stderr, "could not undo") {
		t.Fatalf("create whose undo fails: %v %s", err, stderr)
	}
	if left := m.left(); !slices.Contains(left, "main.json") || !slices.Contains(left, "vm main") {
		t.Fatalf("left: %v", left)
	}
	os.Remove(flag)
	if _, stderr, err := m.run(args...); err == nil || !strings.Contains(stderr, "helper") {
		t.Errorf("the next create: %v %s", err, stderr)
	}
	if left := m.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
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
	out, stderr, err := m.run("exec", "--", "printf", "%s", "sw0rdfish") // fails for want of /workspace: it is logged all the same
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
