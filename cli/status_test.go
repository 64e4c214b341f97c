package cli

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl/child"
	"hermes-box/ops"
)

// No duration is negative, even if the clock was set back.
func TestDurations(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now, "0s ago"},
		{now.Add(500 * time.Millisecond), "0s ago"},
		{now.Add(-time.Hour), "1h ago"},
		{now.Add(-90 * time.Minute), "1h 30m ago"},
		{now.Add(-50 * time.Hour), "2d 2h ago"},
		{now.Add(time.Hour), "at " + now.Add(time.Hour).Local().Format(time.DateTime) + ", which is in the future by this machine's clock"},
	} {
		if got := ago(c.at, now); got != c.want {
			t.Errorf("%v: %s, want %s", c.at, got, c.want)
		}
	}
	if got := seconds(-5); got != "0.0s" {
		t.Errorf("seconds(-5) = %q", got)
	}
}

// status says that memory ran out in the box, and which process the kernel killed.
func TestStatusShowsKilledProcess(t *testing.T) {
	guest := &protocol.Status{OOMKills: 2, Killed: []protocol.Killed{{At: "2026-06-15T12:00:00Z", Process: "node", PID: 4242}}}
	for live, want := range map[bool]bool{true: true, false: false} {
		var p printer
		statusText(&p, &ops.Status{Box: "main", State: "running", Live: live, Guest: guest}, time.Now())
		if got := strings.Contains(p.String(), "! memory ran out on "+time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC).Local().Format("2 Jan 15:04")+
			": the kernel killed node (pid 4242); 2 processes since the boot\n"); got != want {
			t.Errorf("live %v:\n%s", live, p.String())
		}
	}
}

// If ssh cannot be started because this machine has too many open files, the text of status says so and shows the repair.
func TestStatusShowsTheLimitOfThisMachine(t *testing.T) {
	limit := &child.ResourceError{Program: "/usr/bin/ssh", Err: syscall.EMFILE}
	var p printer
	statusText(&p, &ops.Status{Box: "main", State: ops.NotAsked, Cause: limit.Error(), Repair: limit.Recovery()}, time.Now())
	if got := p.String(); !strings.Contains(got, "\nthis machine cannot run ssh: too many open files\n  → ulimit -n 1024\n") || strings.Contains(got, "degraded") {
		t.Error(got)
	}
}
