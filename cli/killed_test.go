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

	"hermes-box/internal/race"
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

// killAfter runs a command, kills it after a step, and checks that status works afterwards.
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

func TestKilledCreateIsUndone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	foreign := m.makeForeign()
	create := []string{"create", "--mirror", m.mirror}
	steps := m.steps(create...)
	if len(steps) < 14 {
		t.Fatalf("the plan is %v", steps)
	}
	m.must("destroy", "--backups", "--confirm", "main", "--quiet")
	for _, step := range race.Sample(steps, 3) {
		m.killAfter(step, create...)
		cut := m.inventory()
		if step == "finish" || step == "backup" { // the box is complete
			m.must("start", "--quiet")
			if out := m.must("status", "--json"); !strings.Contains(out, `"state":"running"`) {
				t.Errorf("killed after its last step: %s", out)
			}
			if made := m.backups(); len(made) != map[string]int{"finish": 0, "backup": 1}[step] {
				t.Errorf("killed after %s, these backups are listed: %v", step, made)
			}
			m.must("backup", "--quiet")
			m.must("destroy", "--backups", "--confirm", "main", "--quiet")
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

func TestKilledStartIsFinished(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("stop", "--quiet")
	steps := m.steps("start")
	if want := []string{"ports", "boot", "services", "verify"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	for _, step := range race.Sample(steps, 3) {
		m.must("stop", "--quiet")
		m.killAfter(step, "start")
		m.must("start", "--quiet")
		m.wantSound("a start that was killed at " + step)
	}
	// If the VM dies and its host agent keeps running, the plan of start has one more step.
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

// If the VM or its host agent dies while start waits for the box, start fails and says that the VM has died.
func TestStartReportsAVMThatDies(t *testing.T) {
	t.Parallel()
	for _, dead := range []string{"ha.pid", "qemu.pid"} {
		m := newMachine(t)
		m.makeBox()
		m.must("stop", "--quiet")
		inject(t, m, rehearsal.AgentStays, rehearsal.ForwardDead)
		// The process dies after the services were started, while start waits for the ports.
		m.script("ssh", `case "$*" in
*"sudo -n "*"hermes-box-guest channel"*) $REAL "$@"; status=$?; kill -9 $(cat `+m.lima()+`/main/`+dead+`); exit $status;;
esac
exec $REAL "$@"`)
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

func TestKilledStopIsFinished(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	steps := m.steps("stop")
	if want := []string{"quiesce", "stop"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	for _, step := range race.Sample(steps, 3) {
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

// If destroy is killed after any of its steps, either the box is unchanged, or other commands are refused until the next
// destroy finishes the work. The backups stay listed until all of them are removed; the key is removed after them.
func TestKilledDestroyIsFinished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args, steps []string
	}{
		"backup":  {[]string{"destroy"}, []string{"open", "copy", "check", "last", "vm", "disk", "keep", "key", "forget"}},
		"force":   {[]string{"destroy", "--force"}, []string{"vm", "disk", "key", "forget"}},
		"backups": {[]string{"destroy", "--backups", "--confirm", "main"}, []string{"vm", "disk", "backups", "key", "forget"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			foreign := m.makeForeign()
			m.makeBox()
			if steps := m.steps(c.args...); !slices.Equal(steps, c.steps) {
				t.Fatalf("the plan is %v, want %v", steps, c.steps)
			}
			for _, step := range race.Sample(c.steps, 3) {
				m.makeBox()
				m.killAfter(step, c.args...)
				switch {
				case step == "open" || step == "copy" || step == "check" || step == "last":
					m.wantReleased("a destroy that was killed at " + step)
					m.wantSound("a destroy that was killed at " + step)
					if made := m.backups(); (made[0].Label == "before-destroy") != (step != "open") {
						t.Errorf("killed after %s, the newest backup is %+v", step, made[0])
					}
					m.must("destroy", "--quiet")
				case step != "forget":
					before := m.inventory()
					for _, next := range [][]string{{"create", "--mirror", m.mirror}, {"start"}, {"stop"}, {"backup"}} {
						if _, stderr, err := m.run(append(next, "--quiet")...); err == nil || !strings.Contains(stderr, "to finish it: hermes-box destroy") {
							t.Errorf("%s after a destroy that was killed at %s: %v %s", next[0], step, err, stderr)
						}
					}
					if remaining := m.inventory(); !slices.Equal(remaining, before) {
						t.Errorf("another command continued the destroy that was killed at %s: remaining %v, was %v", step, remaining, before)
					}
					if gone := name == "backups" && step != "vm" && step != "disk"; gone != (len(m.backups()) == 0) {
						t.Errorf("killed after %s, these backups are listed: %v", step, m.backups())
					}
					if name == "backup" && step == "vm" { // as if it was killed while Lima removed the directory of the VM
						if err := os.MkdirAll(filepath.Join(m.lima(), "main", "guest"), 0o700); err != nil {
							t.Fatal(err)
						}
					}
					if name == "backup" || step != "vm" { // its own backup has everything, or there is no data left to lose
						m.must("destroy", "--quiet")
						break
					}
					if _, stderr, err := m.run("destroy", "--quiet"); err == nil || !strings.Contains(stderr, "what has changed since is lost") ||
						!strings.Contains(stderr, "hint: to destroy it all the same: hermes-box destroy --confirm main") {
						t.Errorf("destroy after a destroy without a backup was killed at %s: %v %s", step, err, stderr)
					}
					if remaining := m.inventory(); !slices.Equal(remaining, before) {
						t.Errorf("a destroy that asked for the name has changed %v to %v", before, remaining)
					}
					m.must("destroy", "--confirm", "main", "--quiet")
				}
				for _, e := range m.backups() {
					m.must("backup", "verify", e.ID)
				}
				m.must("destroy", "--backups", "--confirm", "main", "--quiet")
				if remaining := m.inventory(); !slices.Equal(remaining, foreign) {
					t.Errorf("killed after %s, finished, remaining: %v", step, remaining)
				}
				if _, err := os.Lstat(filepath.Join(m.dir, "home", "backups", "main")); err == nil {
					t.Errorf("killed after %s, finished, the directory of the backups remains", step)
				}
			}
		})
	}
}
