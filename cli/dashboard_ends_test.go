package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/ttytest"
)

// ctrl-z restores the terminal for the shell, and fg brings the dashboard back.
func TestDashboardSuspends(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	program := m.cmd("", "version").Path
	shell := m.cmd("", "version")
	shell.Path, shell.Args = "/bin/sh", []string{"sh", "-i"}
	d := ttytest.Start(t, shell, 80, 24, "PS1=prompt> ", "ENV=")
	d.Hears("prompt> ")
	d.Type("set -m; "+program+"\n", "▸ node")
	d.Type("j", "▸ uv")
	d.Type(ctrlZ)
	d.Hears("prompt> ")
	if d.Mode(1049) || d.Mode(1002) {
		t.Error("the terminal is not restored for the shell")
	}
	d.Hides("▸ uv")
	d.Type("fg\n", "▸ uv")
	d.Type("k", "▸ node")
	d.Type("q")
	d.Hears("prompt> ")
	d.Restored()
	d.Type("exit\n")
	d.Ends(5 * time.Second)
}

func TestDashboardRestoresTheTerminalAtASignal(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		m := newMachine(t)
		m.makeStoppedBox()
		d := m.dashboard("▸ node")
		d.Signal(s)
		wantExit(t, d, exitInterrupted)
		if out := d.Output(); strings.Contains(out, "interrupt again to stop at once") {
			t.Errorf("%v: something is written over the screen: %q", s, out)
		}
	}
}

// A signal during a create undoes it before the program ends.
func TestDashboardUndoesAtASignal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.dashboardInCreate()
	d.Signal(syscall.SIGTERM)
	if got := d.Ends(20 * time.Second); got != exitInterrupted {
		t.Errorf("status %d", got)
	}
	d.Restored()
	d.Shows("undone: make the VM")
	m.wantNothing()
}

// A create is also undone when the terminal is closed.
func TestDashboardUndoesWhenTheTerminalIsClosed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.dashboardInCreate()
	d.HangUp()
	d.Ends(20 * time.Second)
	m.wantNothing()
}

// A limactl that hangs and ignores SIGTERM delays neither the first frame, nor a key, nor quitting.
func TestDashboardWithAHangingLimactl(t *testing.T) {
	t.Parallel()
	m := newBootedMachine(t)
	pidFile := filepath.Join(m.dir, "pid")
	t.Cleanup(func() { m.limactl = filepath.Join(m.dir, "real", "limactl") })
	m.script("limactl", fmt.Sprintf("trap '' TERM\necho $$ >%[1]s.new; mv %[1]s.new %[1]s\nexec sleep 300\n", pidFile))
	begun := time.Now()
	d := m.dashboard("● running")
	t.Logf("first frame after %v", time.Since(begun))
	d.Until("limactl to hang", func(string) bool { _, err := os.Stat(pidFile); return err == nil })
	begun = time.Now()
	d.Type("j", "▸ uv")
	t.Logf("key after %v", time.Since(begun))
	begun = time.Now()
	d.Type("q")
	d.Ends(5 * time.Second)
	took := time.Since(begun)
	if t.Logf("q took %v", took); took > time.Second { // usually 300 ms; more on a loaded machine
		t.Errorf("q took %v", took)
	}
	d.Restored()
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	waitForExit(t, pid, 5*time.Second)
}

// waitForExit waits for a process to end. A zombie has ended. Without /proc, as on macOS, it does not wait.
func waitForExit(t *testing.T, pid int, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("process %d still runs", pid)
			return
		}
	}
}
