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

// steps runs a command that must succeed, and returns the steps of the plan that it announces.
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

// must runs a command that must succeed, and returns its stdout.
func (m *machine) must(args ...string) (stdout string) {
	m.t.Helper()
	out, stderr, err := m.run(args...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s%s", args[0], err, out, stderr)
	}
	return out
}

// killAfter runs a command that is killed after a step, and checks that status works afterwards.
func (m *machine) killAfter(step string, args ...string) {
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

// makeBox creates the box with a file on its data disk, which wantSound checks.
func (m *machine) makeBox() {
	m.t.Helper()
	m.must("create", "--quiet", "--mirror", m.mirror)
	m.must("exec", "--", "sh", "-c", "echo mine > /data/home/agent/sentinel")
}

// wantSound fails unless the box runs, answers, has no operation under way, and still has the file that makeBox wrote.
func (m *machine) wantSound(after string) {
	m.t.Helper()
	if out := m.must("status", "--json"); !strings.Contains(out, `"state":"running"`) || !strings.Contains(out, `"live":true`) || strings.Contains(out, `"busy"`) {
		m.t.Errorf("after %s: %s", after, out)
	}
	if out := m.must("exec", "--", "cat", "/data/home/agent/sentinel"); out != "mine\n" {
		m.t.Errorf("after %s: the data is %q", after, out)
	}
}

// makeForeign makes a VM and a disk that do not belong to hermes-box, and returns what inventory lists of them.
func (m *machine) makeForeign() []string {
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
	foreign := m.makeForeign()
	create := []string{"create", "--mirror", m.mirror}
	steps := m.steps(create...)
	if len(steps) < 13 {
		t.Fatalf("the plan is %v", steps)
	}
	m.must("destroy", "--force", "--quiet")
	for _, step := range steps {
		m.killAfter(step, create...)
		cut := m.inventory()
		if step == "finish" { // the box is complete, only the journal is still open
			m.must("start", "--quiet")
			if out := m.must("status", "--json"); !strings.Contains(out, `"state":"running"`) {
				t.Errorf("killed after its last step: %s", out)
			}
			m.must("destroy", "--force", "--quiet")
		} else if out, _, err := m.run("start", "--json"); err == nil || !strings.Contains(out, `"code":"not_found"`) {
			t.Errorf("start after a create was killed at %s: %v %s", step, err, out)
		}
		if step != "preflight" && slices.Equal(cut, foreign) {
			t.Errorf("killed after %s, nothing is left: the kill came before the step", step)
		}
		if remaining := m.inventory(); !slices.Equal(remaining, foreign) {
			t.Fatalf("killed after %s, recovered, remaining: %v (was %v)", step, remaining, cut)
		}
	}
	m.killAfter("install", create...)
	m.makeBox() // one create undoes the killed one and makes the box
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
		m.killAfter(step, "start")
		m.must("start", "--quiet")
		m.wantSound("a start that was killed at " + step)
	}
	// The VM dies and its host agent stays: the plan of start has one more step.
	inject(t, m, rehearsal.AgentStays)
	m.powerOff()
	m.waitForState("degraded")
	heal(t, m, rehearsal.AgentStays)
	m.killAfter("clear", "start")
	m.must("start", "--quiet")
	m.wantSound("a start that was killed at clear")
}

// powerOff kills the VM with kill -9.
func (m *machine) powerOff() {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.lima(), "main", "qemu.pid"))
	if err != nil {
		m.t.Skip("the VM does not run under QEMU:", err)
	}
	if out, err := exec.Command("kill", "-9", string(data)).CombinedOutput(); err != nil {
		m.t.Fatalf("%v %s", err, out)
	}
}

// If the VM dies while start waits for its services, start stops waiting and reports it.
func TestStartReportsAVMThatDies(t *testing.T) {
	t.Parallel()
	for _, dead := range []string{"ha.pid", "qemu.pid"} {
		m := newMachine(t)
		m.makeBox()
		m.must("stop", "--quiet")
		inject(t, m, rehearsal.AgentStays)
		// The first call of the helper without sudo after one with sudo is the first status after the services were started.
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

// waitForState waits until the box is in a state.
func (m *machine) waitForState(state string) {
	m.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		out := m.must("status", "--json")
		if strings.Contains(out, `"state":"`+state+`"`) {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("the box does not get into the state %s: %s", state, out)
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
			m.killAfter(step, "stop")
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
	foreign := m.makeForeign()
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
		m.killAfter(step, "destroy", "--force")
		if step != "forget" {
			before := m.inventory()
			for _, next := range [][]string{{"create", "--mirror", m.mirror}, {"start"}, {"stop"}} {
				if _, stderr, err := m.run(append(next, "--quiet")...); err == nil || !strings.Contains(stderr, "destroy --force ends it") {
					t.Errorf("%s after a destroy that was killed at %s: %v %s", next[0], step, err, stderr)
				}
			}
			if remaining := m.inventory(); !slices.Equal(remaining, before) {
				t.Errorf("another command continued the destroy that was killed at %s: remaining %v, was %v", step, remaining, before)
			}
			m.must("destroy", "--force", "--quiet")
		}
		if remaining := m.inventory(); !slices.Equal(remaining, foreign) {
			t.Errorf("killed after %s, finished, remaining: %v", step, remaining)
		}
	}
}
