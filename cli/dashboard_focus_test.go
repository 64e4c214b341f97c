package cli

import (
	"strings"
	"testing"
)

// A terminal that has reported the loss of its focus, and then takes a key: the dashboard shows what another process did
// to the box meanwhile, and o finds what it is doing.
func TestDashboardWithoutFocus(t *testing.T) {
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
	ends(t, d, 0)
}
