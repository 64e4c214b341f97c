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

// ctrl-z gives the shell its terminal back, and fg the dashboard.
func TestDashboardSuspends(t *testing.T) {
	m := newMachine(t)
	m.finished()
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
		t.Error("the terminal is not given back to the shell")
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
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		m := newMachine(t)
		m.finished()
		d := m.dashboard("▸ node")
		d.Signal(s)
		ends(t, d, exitInterrupted)
		if out := d.Output(); strings.Contains(out, "interrupt again to stop at once") {
			t.Errorf("%v: something is written over the screen: %q", s, out)
		}
	}
}

// A signal during a create undoes it before the program ends.
func TestDashboardUndoesAtASignal(t *testing.T) {
	m := newMachine(t)
	d := m.creating()
	d.Signal(syscall.SIGTERM)
	if got := d.Ends(20 * time.Second); got != exitInterrupted {
		t.Errorf("status %d", got)
	}
	d.Restored()
	d.Shows("undone: make the VM")
	m.nothing()
}

// A terminal that goes away ends it the same way.
func TestDashboardUndoesWhenTheTerminalGoes(t *testing.T) {
	m := newMachine(t)
	d := m.creating()
	d.HangUp()
	d.Ends(20 * time.Second)
	m.nothing()
}

// A limactl that hangs, and does not mind being asked to end, delays neither the first frame nor a key nor the end.
func TestDashboardWithAHangingLimactl(t *testing.T) {
	m := booted(t)
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
	if t.Logf("q took %v", took); took > time.Second { // 300 ms, and a loaded machine
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
	gone(t, pid, 5*time.Second)
}

// gone waits for a process to end. One that is dead and waits for somebody to reap it has.
func gone(t *testing.T, pid int, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("process %d is left behind", pid)
			return
		}
	}
}
