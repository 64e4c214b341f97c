package cli

import (
	"strings"
	"testing"

	"hermes-box/ops"
)

// The port of a service that is down in the box is not told as one that is not forwarded.
func TestPortOfAServiceThatIsDown(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	for service, unit := range map[string]string{"executor": "executor", "dashboard": "hermes-dashboard"} {
		m.must("exec", "--", "sudo", "systemctl", "stop", unit)
		for _, p := range decode[ops.Status](t, m.must("status", "--json")).Result.Forwards {
			want := ops.PortOK
			if p.Service == service {
				want = "guest-not-listening"
			}
			if p.State != want {
				t.Errorf("%s is down: the port of %s is %s, not %s", service, p.Service, p.State, want)
			}
		}
		m.must("exec", "--", "sudo", "systemctl", "start", unit)
	}
}

// The drift of a component does not hide its state.
func TestStatusShowsStateAndDrift(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.driftCodex()
	for line := range strings.Lines(m.must("status")) {
		if strings.HasPrefix(line, "  codex ") {
			if !strings.Contains(line, "login needed") || !strings.Contains(line, "drifted") {
				t.Error(line)
			}
			return
		}
	}
	t.Error("no row of codex")
}
