//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
)

// hog is a command that uses more and more memory, so that it uses more than any other process when the memory runs
// out. It is one line, because the test types it.
const hog = `python3 -c 'a = [b"x" * (16 << 20) for _ in iter(int, 1)]'`

// outOfMemory runs hog in one of two tmux windows, and then, without swap, in the only window. The kernel must kill
// only the hog, not its shell or tmux, and status must name the hog.
func outOfMemory(t *testing.T, l *lab) {
	// Filling memory is slow in an emulated machine. Reserve part of it as huge pages, which the hog cannot use.
	l.inBox(t, "sudo", "sysctl", "--quiet", "--write", "vm.nr_hugepages=1300")
	defer l.inBox(t, "sudo", "sysctl", "--quiet", "--write", "vm.nr_hugepages=0")
	detached := l.attached(t) // creates the session if there is none
	detached.Hears("main")
	detached.Type("\x02d")
	detached.Ends(time.Minute)
	l.inBox(t, "tmux", "new-window", "-d", "-t", "=main:", "-n", "hog")
	survives(t, l, "=main:hog")
	l.inBox(t, "tmux", "kill-window", "-a", "-t", "=main:hog")
	l.inBox(t, "sudo", "systemctl", "stop", "swapfile.swap")
	survives(t, l, "=main:hog")
	l.inBox(t, "sudo", "systemctl", "start", "swapfile.swap")
	var st ops.Status
	if l.json(t, &st, "status"); st.Guest.Swap.Total == 0 {
		t.Error("the box has no swap")
	}
}

// survives runs hog in a window. It compares the processes of tmux, its shells and some services before and after, and
// checks that status reports the kill.
func survives(t *testing.T, l *lab, window string) {
	t.Helper()
	running := func() string {
		return l.inBox(t, "sh", "-c", `tmux list-panes -a -F 'tmux #{pid}, window #{window_name}: shell #{pane_pid}' &&
			for u in ssh hermes hermes-dashboard executor user@1000; do echo "$u $(systemctl show -P MainPID $u.service)"; done`)
	}
	current := func() *ops.Status {
		var st ops.Status
		l.json(t, &st, "status")
		return &st
	}
	before, count := running(), current().Guest.OOMKills
	l.inBox(t, "tmux", "send-keys", "-t", window, hog, "Enter")
	deadline := time.Now().Add(5 * time.Minute)
	var st *ops.Status
	for {
		if st = current(); st.Live && st.Guest.OOMKills > count {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("status reports no killed process; it is %+v", st)
		}
		time.Sleep(time.Second)
	}
	if st.Guest.OOMKills != count+1 || len(st.Guest.Killed) == 0 || st.Guest.Killed[len(st.Guest.Killed)-1].Process != "python3" {
		t.Errorf("status counts %d killed processes and names %+v", st.Guest.OOMKills-count, st.Guest.Killed)
	}
	if after := running(); after != before {
		t.Errorf("processes before:\n%s\nand after:\n%s", before, after)
	}
	if st = current(); st.State != "running" {
		t.Errorf("the box is %s: %+v", st.State, st)
	}
	if at, err := time.Parse(time.RFC3339, st.Guest.Killed[len(st.Guest.Killed)-1].At); err != nil || time.Since(at).Abs() > 10*time.Minute {
		t.Errorf("killed at %v, %v", at, err)
	}
	human := l.must(t, "status")
	if !slices.ContainsFunc(strings.Split(human, "\n"), func(line string) bool {
		return strings.Contains(line, "python3") && strings.Contains(line, "memory")
	}) {
		t.Errorf("status does not name the killed process:\n%s", human)
	}
}
