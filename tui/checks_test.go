package tui

import (
	"strings"
	"testing"

	"hermes-box/ops"
)

// The title names the check that is running, since some take half a minute. A check is counted once it is done.
func TestDoctorNamesTheRunningCheck(t *testing.T) {
	m := on(withStatus(runningStatus()))
	m.view, m.doctor.checks.feed = onDoctor, newFeed[ops.Check](nil)
	receive := func(all ...ops.Check) { m.update(batch[ops.Check]{from: m.doctor.checks.feed, items: all}) }
	running := ops.Check{ID: "egress", Title: "egress of the box", Verdict: ops.Looking}
	passed := running
	passed.Verdict = ops.Pass
	receive(running)
	if s := screen(m); !strings.Contains(s, "0 checks done, checking egress of the box") {
		t.Error(s)
	}
	receive(passed)
	if s := screen(m); !strings.Contains(s, "1 check done") || len(m.doctor.checks.all) != 1 {
		t.Error(s)
	}
}

// The palette lists available actions first, unless the query is the full name of another one.
func TestPaletteListsAvailableFirst(t *testing.T) {
	first := func(m *model, open, query string) string {
		press(m, open)
		for _, r := range query {
			press(m, string(r))
		}
		return m.finder.found(m.offers())[0].id
	}
	for _, c := range []struct{ query, want string }{{"log", "logs"}, {"start", "start"}, {"st", "stop"}} {
		if got := first(on(withStatus(runningStatus())), ":", c.query); got != c.want {
			t.Errorf("%q finds %s first, want %s", c.query, got, c.want)
		}
	}
	if got := first(on(withStatus(runningStatus())), "?", "G"); got != "end" {
		t.Errorf("the key G finds %s first", got)
	}
}

// While the checks run, the title counts the failures and the warnings so far.
func TestDoctorCountsFailuresWhileRunning(t *testing.T) {
	m := on(withStatus(runningStatus()))
	m.view, m.doctor.checks.feed = onDoctor, newFeed[ops.Check](nil)
	m.update(batch[ops.Check]{from: m.doctor.checks.feed, items: lackingHost()})
	if s := screen(m); !strings.Contains(s, "11 checks done  ✗ 3 failed  ! 1 warning") {
		t.Error(s)
	}
}
