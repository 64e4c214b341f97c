package tui

import (
	"strings"
	"testing"

	"hermes-box/guest/protocol"
)

// The row of a component that has drifted also shows its state, even if only the digest has changed.
func TestDriftDoesNotHideTheState(t *testing.T) {
	st := runningStatus()
	for i := range st.Components {
		switch c := &st.Components[i]; c.Name {
		case "codex":
			c.State, c.Last, c.Detail = protocol.SetupRequired, protocol.SetupRequired, "not logged in"
		case "uv":
			c.Drift = "artifacts"
		}
	}
	m := on(withStatus(st))
	m.update(sized(120, 40))
	row := func(name string) string {
		for _, line := range strings.Split(screen(m), "\n") {
			if strings.Contains(line, "  "+name+" ") {
				return line
			}
		}
		return ""
	}
	if got := row("codex"); !strings.Contains(got, "0.169.0 ↑ 0.171.0") || !strings.Contains(got, "◦ login needed") || !strings.Contains(got, "not logged in") {
		t.Errorf("%q", got)
	}
	if got := row("uv"); !strings.Contains(got, "0.13.8 ↑") || !strings.Contains(got, "✓ healthy") {
		t.Errorf("%q", got)
	}
}
