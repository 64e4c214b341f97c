package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/ops"
)

// steps runs a command that has to end well, and gives the steps of its plan as the program itself announces them.
func (m *machine) steps(args ...string) (all []string) {
	m.t.Helper()
	_, stderr, err := m.run(append(args, "--events")...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", args[0], err, stderr)
	}
	for line := range strings.Lines(stderr) {
		var e ops.Event
		if json.Unmarshal([]byte(line), &e) == nil && e.Kind == ops.Planned {
			for _, s := range e.Steps {
				all = append(all, s.ID)
			}
		}
	}
	return all
}

// must runs a command that has to end well.
func (m *machine) must(args ...string) (stdout string) {
	m.t.Helper()
	out, stderr, err := m.run(args...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s%s", args[0], err, out, stderr)
	}
	return out
}

// killed runs a command that is killed after a step.
func (m *machine) killed(step string, args ...string) {
	m.t.Helper()
	out, err := m.cmd(step, append(args, "--quiet")...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
		m.t.Fatalf("%s was not killed after %s: %v %s", args[0], step, err, out)
	}
	if out, _, err := m.run("status", "--json"); err != nil || !strings.Contains(out, `"ok":true`) {
		m.t.Errorf("status after %s was killed at %s: %v %s", args[0], step, err, out)
	}
}

// makeBox makes the box, with something in it that must never be lost.
func (m *machine) makeBox() {
	m.t.Helper()
	m.must("create", "--quiet", "--mirror", m.mirror)
	m.must("exec", "--", "sh", "-c", "echo mine > /data/home/agent/sentinel")
}

// wantSound fails unless the box runs, all is well in it and nothing was lost.
func (m *machine) wantSound(after string) {
	m.t.Helper()
	if out := m.must("status", "--json"); !strings.Contains(out, `"state":"running"`) || !strings.Contains(out, `"live":true`) || strings.Contains(out, `"busy"`) {
		m.t.Errorf("after %s: %s", after, out)
	}
	if out := m.must("exec", "--", "cat", "/data/home/agent/sentinel"); out != "mine\n" {
		m.t.Errorf("after %s: the data is %q", after, out)
	}
}

// stranger makes a VM and a disk that are not ours, and gives what left tells of them.
func (m *machine) stranger() []string {
	m.t.Helper()
	if err := os.MkdirAll(m.lima(), 0o700); err != nil {
		m.t.Fatal(err)
	}
	m.makeVM("stranger", "stranger")
	return []string{"disk stranger", "vm stranger"}
}

func TestCreateKilledAfterEachStepIsUndoneByTheNext(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	stranger := m.stranger()
	create := []string{"create", "--mirror", m.mirror}
	steps := m.steps(create...)
	if len(steps) < 13 {
		t.Fatalf("the plan is %v", steps)
	}
	m.must("destroy", "--force", "--quiet")
	for _, step := range steps {
		m.killed(step, create...)
		cut := m.left()
		if step == "finish" { // it is whole, but for the journal's end
			m.must("start", "--quiet")
			if out := m.must("status", "--json"); !strings.Contains(out, `"state":"running"`) {
				t.Errorf("killed after its last step: %s", out)
			}
			m.must("destroy", "--force", "--quiet")
		} else if out, _, err := m.run("start", "--json"); err == nil || !strings.Contains(out, `"code":"not_found"`) {
			t.Errorf("start after a create was killed at %s: %v %s", step, err, out)
		}
		if step != "preflight" && slices.Equal(cut, stranger) {
			t.Errorf("killed after %s, nothing is left: the kill did not land where it should", step)
		}
		if left := m.left(); !slices.Equal(left, stranger) {
			t.Fatalf("killed after %s, recovered, left: %v (was %v)", step, left, cut)
		}
	}
	m.killed("install", create...)
	m.makeBox() // undoes and makes, in one
	m.wantSound("a create that was killed at install")
}

func TestStartKilledAfterEachStepIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("stop", "--quiet")
	steps := m.steps("start")
	if want := []string{"ports", "boot", "services", "verify"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	for _, step := range steps {
		m.must("stop", "--quiet")
		m.killed(step, "start")
		m.must("start", "--quiet")
		m.wantSound("a start that was killed at " + step)
	}
	// The VM dies, its host agent is left: one step more.
	inject(t, m, rehearsal.AgentStays)
	m.powerOff()
	m.until("degraded")
	heal(t, m, rehearsal.AgentStays)
	m.killed("clear", "start")
	m.must("start", "--quiet")
	m.wantSound("a start that was killed at clear")
}

// powerOff kills the VM, as by kill -9.
func (m *machine) powerOff() {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.lima(), "main", "qemu.pid"))
	if err != nil {
		m.t.Skip("not a machine under qemu:", err)
	}
	if out, err := exec.Command("kill", "-9", string(data)).CombinedOutput(); err != nil {
		m.t.Fatalf("%v %s", err, out)
	}
}

// A VM that dies while its services are waited for ends the waiting, and is told.
func TestStartTellsOfAVMThatDies(t *testing.T) {
	t.Parallel()
	for _, dead := range []string{"ha.pid", "qemu.pid"} {
		m := newMachine(t)
		m.makeBox()
		m.must("stop", "--quiet")
		inject(t, m, rehearsal.AgentStays)
		// The first call of the helper without sudo after one with it is the first status after the services were started.
		m.script("ssh", `cd `+m.lima()+`/main
case "$*" in
*"sudo -n "*"hermes-box-guest channel"*) touch started;;
*"exec /usr/local/libexec/hermes-box-guest channel"*) [ ! -e started ] || { kill -9 $(cat `+dead+`); exit 255; };;
esac
cd / && exec $REAL "$@"`)
		begun := time.Now()
		_, stderr, err := m.run("start", "--quiet")
		if err == nil || !strings.Contains(stderr, "the VM of box \"main\" has died: ") || !strings.Contains(stderr, "hermes-box logs boot") {
			t.Errorf("%s killed: after %v: %v %s", dead, time.Since(begun), err, stderr)
		}
	}
}

// until waits for a state of the box.
func (m *machine) until(state string) {
	m.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		out := m.must("status", "--json")
		if strings.Contains(out, `"state":"`+state+`"`) {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("the box does not become %s: %s", state, out)
		}
	}
}

func TestStopKilledAfterEachStepIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	steps := m.steps("stop")
	if want := []string{"quiesce", "stop"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	for _, step := range steps {
		for _, next := range []string{"stop", "start"} {
			m.must("start", "--quiet")
			m.killed(step, "stop")
			m.must(next, "--quiet")
			if next == "stop" {
				if out := m.must("status", "--json"); !strings.Contains(out, `"state":"stopped"`) {
					t.Errorf("stop after a stop that was killed at %s: %s", step, out)
				}
				continue
			}
			m.wantSound("a stop that was killed at " + step)
		}
	}
}

func TestDestroyKilledAfterEachStepIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	stranger := m.stranger()
	m.makeBox()
	steps := m.steps("destroy", "--force")
	if want := []string{"vm", "disk", "forget"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	for _, step := range steps {
		m.makeBox()
		if out, _, err := m.run("destroy", "--json"); err == nil || !strings.Contains(out, `"code":"preflight_failed"`) {
			t.Errorf("destroy without --force: %v %s", err, out)
		}
		m.killed(step, "destroy", "--force")
		if step != "forget" {
			before := m.left()
			for _, next := range [][]string{{"create", "--mirror", m.mirror}, {"start"}, {"stop"}} {
				if _, stderr, err := m.run(append(next, "--quiet")...); err == nil || !strings.Contains(stderr, "destroy --force ends it") {
					t.Errorf("%s after a destroy cut off at %s: %v %s", next[0], step, err, stderr)
				}
			}
			if left := m.left(); !slices.Equal(left, before) {
				t.Errorf("others ended the destroy cut off at %s: %v, was %v", step, left, before)
			}
			m.must("destroy", "--force", "--quiet")
		}
		if left := m.left(); !slices.Equal(left, stranger) {
			t.Errorf("killed after %s, finished, left: %v", step, left)
		}
	}
}
