package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/ops"
)

// killCreateAfter runs a create that is killed after a step.
func (m *machine) killCreateAfter(step string) {
	m.t.Helper()
	c := m.cmd(step, "create", "--quiet", "--mirror", filepath.Join(m.dir, "mirror"))
	if err := c.Run(); err == nil || c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		m.t.Fatalf("create was not killed after %s: %v", step, err)
	}
}

// decode decodes the output of a command run with --json.
func decode[T any](t *testing.T, out string) (v struct {
	OK     bool
	Result T
	Error  struct {
		Code, Message, Recovery string
		Details                 map[string]any
	}
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v
}

// After a killed create, status and doctor suggest create and destroy --force, but not stop --force.
func TestKilledCreateIsReported(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.killCreateAfter("vm")
	out, _, err := m.run("status", "--json")
	st := decode[ops.Status](t, out).Result
	if u := st.Underway; err != nil || st.State != "degraded" || st.Busy != "create was cut off" || u == nil || u.Running || u.Operation != "create" || u.Step != "vm" {
		t.Errorf("status: %v %s", err, out)
	}
	for _, verb := range []string{"status", "doctor"} {
		out, _, _ := m.run(verb)
		for _, want := range []string{"create was cut off, at vm", "to make it anew: hermes-box create; to remove what is left: hermes-box destroy --force"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", verb, want, out)
			}
		}
		if strings.Contains(out, "stop --force") {
			t.Errorf("%s offers another repair:\n%s", verb, out)
		}
	}
	if _, stderr, err := m.run("ssh"); err == nil || strings.Contains(stderr, "being made") {
		t.Errorf("ssh: %v %s", err, stderr)
	}
}

// start removes what a killed create has left, and says what it removed.
func TestStartAfterAKilledCreateSaysWhatItRemoved(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.killCreateAfter("vm")
	out, stderr, err := m.run("start", "--json")
	a := decode[any](t, out)
	removed, _ := a.Error.Details["removed"].(map[string]any)
	if err == nil || a.Error.Code != "not_found" || !strings.HasPrefix(a.Error.Recovery, "to create it: hermes-box create; to restore it ") ||
		removed["instance"] != "main" || removed["disk"] != "main-data" {
		t.Errorf("start: %v %s", err, out)
	}
	if !strings.Contains(stderr, "! removed what an interrupted create had left") {
		t.Errorf("stderr: %s", stderr)
	}
	if remaining := m.inventory(); len(remaining) != 0 {
		t.Errorf("remaining: %v", remaining)
	}
	for _, args := range [][]string{{"destroy", "--force", "--json"}, {"destroy", "--json"}} { // nothing is left to destroy
		out, _, err = m.run(args...)
		if a := decode[ops.Destroyed](t, out); err != nil || !a.Result.Already {
			t.Errorf("destroy of nothing: %v %s", err, out)
		}
	}
}

func TestDestroyAfterAKilledCreate(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"key", "claim", "disk", "vm", "boot"} {
		m := newMachine(t)
		m.killCreateAfter(step)
		out, stderr, err := m.run("destroy", "--force")
		if err != nil || !strings.Contains(out, "removed what an interrupted create of box main had left") || !strings.Contains(stderr, "! removed") {
			t.Errorf("killed after %s: %v\n%s%s", step, err, out, stderr)
		}
		if step == "boot" && !strings.Contains(out, "of artifacts are kept for the next create; to remove them: rm -rf ") {
			t.Errorf("destroy does not say that the artifacts are kept: %s", out)
		}
		if remaining := m.inventory(); len(remaining) != 0 {
			t.Errorf("killed after %s, destroyed, remaining: %v", step, remaining)
		}
	}
}

// While create runs, status and doctor say so, with its pid and start time, and offer only to wait.
func TestCreateUnderWayIsReported(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := rehearsal.Inject(m.lima(), rehearsal.HoldBoot); err != nil {
		t.Fatal(err)
	}
	c := m.cmd("", "create", "--events", "--mirror", filepath.Join(m.dir, "mirror"))
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	checked := false
	var events bytes.Buffer
	for dec := json.NewDecoder(io.TeeReader(stderr, &events)); ; {
		var e ops.Event
		if dec.Decode(&e) != nil {
			break
		}
		if e.Kind != ops.Started || e.Step != "boot" {
			continue
		}
		checked = true
		pid := fmt.Sprintf("(pid %d)", c.Process.Pid)
		for _, verb := range []string{"status", "doctor"} {
			out, _, err := m.run(verb)
			if (err != nil) != (verb == "doctor") || !strings.Contains(out, "create is under way since ") || !strings.Contains(out, pid) || !strings.Contains(out, "→ wait for it to end") ||
				strings.Count(out, "→") != 1 {
				t.Errorf("%s: %v\n%s", verb, err, out)
			}
		}
		out, _, _ := m.run("status", "--json")
		if st := decode[ops.Status](t, out).Result; st.State != "starting" || st.Underway == nil || st.Underway.PID != c.Process.Pid || st.Underway.Started.IsZero() ||
			st.Underway.Step != "boot" && st.Underway.Step != "fetch" {
			t.Errorf("status: %s", out)
		}
		if _, stderr, err := m.run("start"); err == nil || !strings.Contains(stderr, pid) && !strings.Contains(stderr, fmt.Sprintf("pid %d", c.Process.Pid)) {
			t.Errorf("start: %v %s", err, stderr)
		}
		c.Process.Signal(os.Interrupt)
	}
	_, _ = io.Copy(&events, stderr) // the decoder stops at a line that is not an event
	c.Wait()
	if !checked {
		t.Error("create never reached the step boot")
	}
	if remaining := m.inventory(); len(remaining) != 0 {
		t.Errorf("remaining: %v\n%s", remaining, &events)
	}
}

// start refuses a Lima whose version is not the one in the lock; stop does not.
func TestStartWantsTheLimaOfTheLock(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	lock, err := os.ReadFile(filepath.Join(m.dir, "hermes-box.lock"))
	if err != nil {
		t.Fatal(err)
	}
	m.write("hermes-box.lock", []byte(strings.Replace(string(lock), "version: 2.1.3", "version: 2.0.0", 1)))
	_, stderr, err := m.run("start")
	if err == nil || !strings.Contains(stderr, "Lima is 2.1.3, but the lock requires 2.0.0") || !strings.Contains(stderr, "hint: install Lima 2.0.0") {
		t.Errorf("start: %v %s", err, stderr)
	}
	if _, stderr, err := m.run("limactl", "start", "--tty=false", "main"); err != nil {
		t.Fatal(err, stderr)
	}
	if _, stderr, err := m.run("stop", "--force"); err != nil {
		t.Errorf("stop: %v %s", err, stderr)
	}
}

// The status of a stopped box shows its ports and what was last seen of it; JSON holds each fact once.
func TestStatusOfAStoppedBox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	m.write("home/boxes/main.seen", fmt.Appendf(nil, `{"at":%q,"box":"2026-01-01T00:00:00Z","status":{"protocol":2,"os":"Debian","arch":"amd64","kernel":"6","uptime":9,`+
		`"now":"2026-01-01T00:00:00Z","cpus":2,"load":0,"memory":{"used":1,"total":2},"root":{"used":1,"total":2},"data":{"used":1,"total":2},"data_uuid":"u","lock":"schema: 1\n",`+
		`"components":[{"name":"codex","applied":"1.0.0","previous":"0.9.0","state":"healthy"}]}}`, time.Now().Add(-2*time.Minute).UTC().Format(time.RFC3339)))
	out, _, err := m.run("status")
	for _, want := range []string{"○ stopped", "as last seen 2m ago:", "codex", "ports  executor ", "dashboard "} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
	out, _, err = m.run("status", "--json")
	st := decode[ops.Status](t, out).Result
	if err != nil || st.Guest == nil || st.Guest.DataUUID != "u" || len(st.Components) != 1 || st.Components[0].Previous != "0.9.0" || st.Components[0].Last != "healthy" || st.Ports.Executor == 0 {
		t.Errorf("%v %s", err, out)
	}
	if strings.Contains(out, "schema: 1") || strings.Count(out, "codex") != 1 {
		t.Errorf("the output holds a value twice, or the text of the lock: %s", out)
	}
}

// A partial download that is older than a week is removed by the next command that changes a box.
func TestOldPartialDownloadsAreRemoved(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	half := filepath.Join("home/artifacts/partial", "sha256-"+strings.Repeat("a", 64))
	m.write(half, []byte("half"))
	for age, kept := range map[time.Duration]bool{time.Hour: true, 8 * 24 * time.Hour: false} {
		path := filepath.Join(m.dir, half)
		m.write(half, []byte("half"))
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if _, stderr, err := m.run("stop"); err != nil {
			t.Fatal(err, stderr)
		}
		if _, err := os.Stat(path); os.IsNotExist(err) == kept {
			t.Errorf("%v old: %v", age, err)
		}
	}
}

// A damaged record is reported with a hint that loses no data; doctor and "logs commands" work without the record.
func TestDamagedRecordIsReported(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	m.write("home/boxes/main.json", []byte("{"))
	m.write("home/logs/commands.ndjson", []byte(`{"time":"2026-01-01T00:00:00Z","command":"limactl list"}`+"\n"))
	for _, verb := range []string{"start", "status"} {
		if _, stderr, err := m.run(verb); err == nil || !strings.Contains(stderr, "main.json is damaged") || strings.Contains(stderr, "begin anew") || !strings.Contains(stderr, "put a good copy back") {
			t.Errorf("%s: %v %s", verb, err, stderr)
		}
	}
	if out, stderr, err := m.run("doctor"); err == nil || !strings.Contains(out, "fail    record of the box") || !strings.Contains(out, "pass    Lima ") {
		t.Errorf("doctor: %v %s%s", err, out, stderr)
	}
	if out, stderr, err := m.run("logs", "commands"); err != nil || !strings.Contains(out, "limactl") {
		t.Errorf("logs commands: %v %s%s", err, out, stderr)
	}
	if _, stderr, err := m.run("logs", "hermes"); err == nil || !strings.Contains(stderr, "main.json is damaged") {
		t.Errorf("logs hermes: %v %s", err, stderr)
	}
}

// A box whose create was interrupted and whose journal is missing is reported as unfinished, not as being created.
func TestUnfinishedBoxWithoutAJournal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	record, err := os.ReadFile(filepath.Join(m.dir, "home/boxes/main.json"))
	if err != nil {
		t.Fatal(err)
	}
	m.write("home/boxes/main.json", bytes.Replace(record, []byte(`"ready":true`), []byte(`"ready":false`), 1))
	if _, stderr, err := m.run("start"); err == nil || !strings.Contains(stderr, "was never finished") || !strings.Contains(stderr, "hint: to remove it: hermes-box destroy --force") {
		t.Errorf("start: %v %s", err, stderr)
	}
	m.must("destroy", "--force", "--quiet")
	if remaining := m.inventory(); len(remaining) != 0 {
		t.Errorf("remaining: %v", remaining)
	}
}

// After a killed start, stop or destroy, status names the verb, the step and the command that repairs it, and no pid.
func TestKilledOperationIsReported(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("stop", "--quiet")
	for _, c := range []struct{ before, step, args, repair string }{
		{"", "boot", "start", "hermes-box start"},
		{"start", "quiesce", "stop", "hermes-box stop"},
		{"start", "vm", "destroy --force", "to finish it: hermes-box destroy"},
	} {
		if c.before != "" {
			m.must(c.before, "--quiet")
		}
		args := strings.Fields(c.args)
		m.killAfter(c.step, args...)
		u := decode[ops.Status](t, m.must("status", "--json")).Result.Underway
		if u == nil || u.Running || u.PID != 0 || u.Operation != args[0] || u.Step != c.step || u.Repair != c.repair {
			t.Errorf("%s killed at %s: %+v", c.args, c.step, u)
		}
		out := m.must("status")
		if !strings.Contains(out, args[0]+" was cut off, at "+c.step) || strings.Contains(out, "not made yet") {
			t.Errorf("%s killed at %s:\n%s", c.args, c.step, out)
		}
	}
}
