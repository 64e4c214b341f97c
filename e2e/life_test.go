//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/ttytest"
	"hermes-box/ops"
)

const sentinel = "/data/home/agent/workspace/sentinel"

func restart(t *testing.T, l *lab) {
	word := strconv.FormatInt(time.Now().UnixNano(), 36)
	l.inBox(t, "sh", "-c", "printf %s "+word+" > "+sentinel)
	var before, after ops.Status
	l.json(t, &before, "status")
	environment := l.inBox(t, "cat", "/etc/environment")
	stopped(t, l)
	var run ops.Run
	l.json(t, &run, "start")
	if len(run.Drift) != 0 {
		t.Errorf("drift: %+v", run.Drift)
	}
	if got := l.inBox(t, "cat", sentinel); got != word {
		t.Fatalf("the sentinel is %q, was %q", got, word)
	}
	l.json(t, &after, "status")
	if before.Guest.DataUUID != after.Guest.DataUUID {
		t.Errorf("the data disk was %s and is %s", before.Guest.DataUUID, after.Guest.DataUUID)
	}
	// If Lima changes this file at a boot, it ends all sessions and services of the user.
	if got := l.inBox(t, "cat", "/etc/environment"); got != environment {
		t.Errorf("/etc/environment was\n%s\nand is\n%s", environment, got)
	}
	noFailedUnit(t, l)
}

// stopped stops the box, and checks status, exec and a second stop on the stopped box.
func stopped(t *testing.T, l *lab) {
	t.Helper()
	l.must(t, "stop")
	var off ops.Status
	if l.json(t, &off, "status"); off.State != "stopped" || off.Live || off.Seen == nil || len(off.Components) != 6 {
		t.Errorf("status of a stopped box: %+v", off)
	}
	if o := l.run(t, "", "exec", "--", "true"); o.status != 1 || !strings.Contains(o.stderr, "hermes-box start") {
		t.Errorf("exec in a stopped box: %+v", o)
	}
	var again ops.Run
	if l.json(t, &again, "stop"); !again.Already {
		t.Error("stop of a stopped box does not report that it was stopped already")
	}
}

// noFailedUnit checks that no unit of the system or of the user has failed since the boot.
func noFailedUnit(t *testing.T, l *lab) {
	t.Helper()
	for _, manager := range []string{"--system", "--user"} {
		if out := l.inBox(t, "systemctl", manager, "list-units", "--failed", "--plain", "--no-legend"); out != "" {
			t.Errorf("failed units of a healthy box:\n%s", out)
		}
	}
}

// killVM ends the VM like a power cut.
func killVM(t *testing.T, l *lab) {
	l.inBox(t, "sh", "-c", "printf alive > "+sentinel+" && sync "+sentinel)
	data, err := os.ReadFile(filepath.Join(l.limaHome(), "e2e", "qemu.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for { // until Lima has noticed; start must work whatever Lima reports then
		var st ops.Status
		if l.json(t, &st, "status"); st.State != "running" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("status still shows the killed VM as running")
		}
		time.Sleep(time.Second)
	}
	l.must(t, "start")
	if got := l.inBox(t, "cat", sentinel); got != "alive" {
		t.Errorf("the sentinel is %q", got)
	}
}

// attach runs `hermes-box ssh` on a terminal twice.
func attach(t *testing.T, l *lab) {
	l.inBox(t, "rm", "-f", "/workspace/where")
	first := l.attached(t)
	first.Hears("main")
	first.Type("pwd > where; echo $TMUX > tmux; HB_MARK=kept\r")
	l.until(t, "the shell in tmux has run", "test", "-s", "/workspace/tmux")
	if got := strings.TrimSpace(l.inBox(t, "cat", "/workspace/where")); got != "/workspace" && got != "/home/agent/workspace" {
		t.Errorf("ssh starts in %q", got)
	}
	if got := strings.TrimSpace(l.inBox(t, "tmux", "display-message", "-p", "-t", "main", "#S")); got != "main" {
		t.Errorf("the session is %q", got)
	}
	first.Type("\x02d") // detach
	if status := first.Ends(time.Minute); status != 0 {
		t.Errorf("detaching ends with %d", status)
	}
	second := l.attached(t)
	second.Hears("main")
	second.Type("echo $HB_MARK > mark\r")
	l.until(t, "the same shell is back", "grep", "-q", "kept", "/workspace/mark")
	second.Type("\x02d")
	second.Ends(time.Minute)
}

// attached returns a terminal that runs `hermes-box ssh`.
func (l *lab) attached(t *testing.T) *ttytest.Terminal {
	t.Helper()
	term := ttytest.Start(t, l.cmd(t, l.root, "ssh"), 120, 40)
	term.Patience = 2 * time.Minute
	return term
}

// until repeats a command in the box until it succeeds.
func (l *lab) until(t *testing.T, what string, args ...string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for l.run(t, "", append([]string{"exec", "--"}, args...)...).status != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
		time.Sleep(time.Second)
	}
}
