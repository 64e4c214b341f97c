package tui

import (
	"strings"
	"testing"

	"hermes-box/ops"
)

// Lines above the panels report a port that another program holds, a wrong clock and memory that ran out. The list of
// ports marks the port too.
func TestCausesAreShown(t *testing.T) {
	st := runningStatus()
	if s := screen(on(withStatus(st))); !strings.Contains(s, "ports 4788 ✓ 9119 ✓") || strings.Contains(s, "! ") {
		t.Errorf("a healthy box is shown with causes:\n%s", s)
	}
	st.Skew, st.Guest.OOMKills = -3600, 1
	st.Forwards[1].State, st.Forwards[1].Holder = ops.PortTaken, "pid 812"
	s := screen(on(withStatus(st)))
	for _, want := range []string{"ports 4788 ✓ 9119 !", "port 9119 of this machine is held by pid 812", "1h0m behind", "1 repair what is wrong", "memory ran out"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is missing:\n%s", want, s)
		}
	}
}
