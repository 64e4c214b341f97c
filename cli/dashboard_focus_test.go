package cli

import (
	"strings"
	"testing"
)

// After the terminal has lost its focus, the next key makes the dashboard show what another process did to the box
// meanwhile.
func TestDashboardWithoutFocus(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	d := m.dashboard("● running")
	d.Type("\x1b[O") // focus lost
	m.must("stop")
	d.Type("j", "○ stopped")
	d.Type("\x1b[O")
	m.must("start")
	d.Type("k", "● running")
	d.Until("the components as they are now", func(screen string) bool {
		return strings.Contains(screen, "✓ healthy") && !strings.Contains(screen, "stopped")
	})
	d.Type("q")
	wantExit(t, d, 0)
}
