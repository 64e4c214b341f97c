package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/ttytest"
	"hermes-box/ops"
)

// A box that works is "running" even if Lima reported errors at boot: create and start succeed, status shows no
// problem, and logs and login work.
func TestErrorsOfLimaAtBootDoNotDegradeTheBox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	inject(t, m, rehearsal.Degraded)
	m.makeBox()
	m.wantSound("a create that Lima calls degraded")
	m.must("stop", "--quiet")
	m.must("start", "--quiet")
	m.wantSound("a start that Lima calls degraded")
	st := decode[ops.Status](t, m.must("status", "--json")).Result
	if st.Cause != "" {
		t.Errorf("nothing is wrong with the box, but status says %q", st.Cause)
	}
	m.must("logs", "hermes")
	m.must("login", "--json")

	// Now the forwards are dead, as if Lima's guest agent had stopped: everything else still works, and the box is
	// "degraded".
	inject(t, m, rehearsal.ForwardDead)
	out := m.must("status")
	for _, want := range []string{"not forwarded to this machine: executor (port ", "ssh, exec, logs and login work", "(Lima reported at boot: "} {
		if !strings.Contains(out, want) {
			t.Errorf("status does not say %q:\n%s", want, out)
		}
	}
	m.must("exec", "--", "true")
	m.must("logs", "hermes")
	m.must("login", "--json")
	tm := ttytest.Start(t, m.cmd("", "ssh"), 80, 24, "TERM=xterm-256color")
	tm.Hears(`\$ `)
	tm.Type("exit\r")
	wantExit(t, tm, 0)
	if st := decode[ops.Status](t, m.must("status", "--json")).Result; !st.Live || st.State != "degraded" || st.Components[5].State != "healthy" {
		t.Errorf("%+v", st)
	}
	heal(t, m, rehearsal.ForwardDead)
}

// A box whose host agent does not answer can still be used; status shows it as running and says what is wrong.
func TestBoxWithBrokenHostAgentCanBeUsed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	inject(t, m, rehearsal.Broken)
	out := m.must("status")
	if !strings.Contains(out, "● running") || !strings.Contains(out, "the host agent does not answer") {
		t.Error(out)
	}
	m.must("exec", "--", "true")
	m.must("logs", "hermes")
	tm := ttytest.Start(t, m.cmd("", "ssh"), 80, 24, "TERM=xterm-256color")
	tm.Hears(`\$ `)
	tm.Type("exit\r")
	wantExit(t, tm, 0)
	if _, stderr, err := m.run("start"); err == nil || !strings.Contains(stderr, "hint: hermes-box restart") {
		t.Errorf("start: %v %s", err, stderr)
	}
	m.must("restart", "--quiet")
	heal(t, m, rehearsal.Broken)
	m.wantSound("a restart")
}

// If a box does not answer, status shows the state of its components as unknown, with the state that was seen last.
func TestComponentsOfABoxThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("status", "--quiet")
	inject(t, m, rehearsal.SSHRefused)
	st := decode[ops.Status](t, m.must("status", "--json")).Result
	if st.State != "degraded" || st.Live || !strings.Contains(st.Cause, "does not answer") {
		t.Errorf("%+v", st)
	}
	for _, c := range st.Components {
		if c.State != ops.NotAsked || c.Last == "" {
			t.Errorf("%+v", c)
		}
	}
	// A stop that cannot reach the box has stopped no services, so it does not report that it undoes anything.
	if _, stderr, err := m.run("stop"); err == nil || strings.Contains(stderr, "undo") || !strings.Contains(stderr, "hermes-box stop --force") {
		t.Errorf("stop: %v %s", err, stderr)
	}
	if st.Repair != "hermes-box stop --force; hermes-box start" {
		t.Errorf("the repair is %q", st.Repair)
	}
	if _, stderr, err := m.run("exec", "--", "true"); err == nil || !strings.Contains(stderr, st.Repair) || strings.Contains(stderr, "restart") {
		t.Errorf("exec: %v %s", err, stderr)
	}
	m.must("stop", "--force", "--quiet")
	heal(t, m, rehearsal.SSHRefused)
	m.must("start", "--quiet")
	m.wantSound("a stop by force")
}

// If the VM is gone and the data disk still exists, status, doctor, create and the verbs that need the VM report that,
// and none of them suggests creating the box.
func TestVMGoneKeepsTheData(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	m.must("limactl", "delete", "main")
	for verb, fails := range map[string]bool{"status": false, "start": true, "restart": true, "create": true, "doctor": true, "ssh": true, "exec -- true": true} {
		out, stderr, err := m.run(strings.Fields(verb)...)
		if verb == "ssh" && strings.Contains(stderr, "needs a terminal") {
			continue
		}
		for _, want := range []string{`the VM of box "main" is gone; its data is kept on disk main-data`} {
			if (err != nil) != fails || !strings.Contains(out+stderr, want) || strings.Contains(out, "not made yet") {
				t.Errorf("%s: %v, no %q in\n%s%s", verb, err, want, out, stderr)
			}
		}
		if fails && !strings.Contains(out+stderr, "create does not touch it") {
			t.Errorf("%s does not say that create keeps the disk: %s%s", verb, out, stderr)
		}
	}
	if _, stderr, _ := m.run("start"); !strings.Contains(stderr, "there is no backup; to delete it with all its data: hermes-box destroy --force") {
		t.Errorf("start: %s", stderr)
	}
	if remaining := strings.Join(m.inventory(), " "); remaining != "main.json disk main-data" {
		t.Errorf("remaining: %s", remaining)
	}
	m.must("destroy", "--force", "--quiet")
}

// If the VM is gone, the hint names the newest backup, and what is lost on the way back to it.
func TestVMGoneNamesTheNewestBackup(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	id := m.backupID()
	m.must("stop", "--quiet")
	m.must("limactl", "delete", "main")
	_, stderr, err := m.run("start")
	for _, want := range []string{"the disk stays until it is destroyed", "which loses what has changed since ", ": hermes-box destroy --force; to restore it after that: hermes-box restore " + id + "\n"} {
		if err == nil || !strings.Contains(stderr, want) {
			t.Errorf("%v: no %q in %s", err, want, stderr)
		}
	}
}

// driftCodex changes the versions of Lima and Codex in the lock.
func (m *machine) driftCodex() {
	m.t.Helper()
	lock, err := os.ReadFile(filepath.Join(m.dir, "hermes-box.lock"))
	if err != nil {
		m.t.Fatal(err)
	}
	before, codex, _ := strings.Cut(string(lock), "  codex:\n")
	m.write("hermes-box.lock", []byte(strings.Replace(before, "version: 2.1.3", "version: 2.1.4", 1)+"  codex:\n"+strings.Replace(codex, "demo-1", "demo-9", 2)))
}

// If the lock of a stopped box has changed, status says what has drifted, since the applied lock is saved with the last
// status.
func TestDriftOfAStoppedBoxHasAReason(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("stop", "--quiet")
	m.driftCodex()
	st := decode[ops.Status](t, m.must("status", "--json")).Result
	if len(st.Platform) == 0 {
		t.Errorf("no platform drift: %+v", st)
	}
	for _, c := range st.Components {
		if c.State != "stopped" || (c.Drift != "") != (c.Name == "codex") {
			t.Errorf("%+v", c)
		}
	}
}
