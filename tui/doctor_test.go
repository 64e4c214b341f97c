package tui

import (
	"strings"
	"testing"
)

// Doctor selects the first check that fails, unless the user has selected another.
func TestDoctorSelectsFirstFailure(t *testing.T) {
	f := withStatus(runningStatus())
	f.checks = lackingHost()
	m := on(f)
	drain(m, press(m, "d"))
	if s := screen(m); !strings.Contains(s, "▸ ✗ fail") {
		t.Error(s)
	}
	drain(m, press(m, "g", "j"))
	at := m.doctor.checks.list.At
	drain(m, press(m, "r"))
	if m.doctor.checks.list.At != at {
		t.Errorf("the selection has moved from %d to %d", at, m.doctor.checks.list.At)
	}
}

// Doctor runs the checks each time it is opened.
func TestDoctorRunsEachTime(t *testing.T) {
	f := withStatus(runningStatus())
	m := on(f)
	drain(m, press(m, "d"))
	drain(m, press(m, "esc"))
	drain(m, press(m, "d"))
	if n := strings.Count(strings.Join(f.asked, " "), "doctor"); n != 2 {
		t.Errorf("the checks ran %d times, want 2", n)
	}
}
