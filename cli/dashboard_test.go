package cli

import (
	"strings"
	"testing"
	"time"
)

// dashboard is hermes-box alone, on a terminal of the machine.
func (m *machine) dashboard(w, h int, env ...string) *terminal {
	c := m.cmd("", "--color=auto")
	c.Env = append(c.Env, env...)
	return on(m.t, c, w, h)
}

func TestDashboardOfAStoppedBox(t *testing.T) {
	m := newMachine(t)
	m.finished()
	d := m.dashboard(80, 24)
	d.shows("○ stopped")
	d.shows("start the box")
	t.Log("\n" + d.text())
	d.types("q")
	if status := d.ends(2 * time.Second); status != 0 {
		t.Errorf("status %d", status)
	}
	d.restored()
	if strings.Contains(d.output(), "panic") {
		t.Error(d.output())
	}
}
