package cli

import (
	"strings"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/ttytest"
)

// dashboard is hermes-box alone, on a terminal of the machine, when it shows a text.
func (m *machine) dashboard(shows string, env ...string) *ttytest.Terminal {
	m.t.Helper()
	d := ttytest.Start(m.t, m.cmd("", "--mirror="+m.mirror), 80, 24, env...)
	d.Shows(shows)
	return d
}

// creating is a dashboard in whose create the VM boots and boots.
func (m *machine) creating() *ttytest.Terminal {
	m.t.Helper()
	inject(m.t, m, rehearsal.HoldBoot)
	d := m.dashboard("has all it needs")
	d.Type(enter, "▸ boot the VM")
	return d
}

// nothing fails if anything of a box is left.
func (m *machine) nothing() {
	m.t.Helper()
	if left := m.left(); len(left) != 0 {
		m.t.Errorf("left: %v", left)
	}
}

// Keys that come in one burst are all heard, in their order.
func TestDashboardHearsFastTyping(t *testing.T) {
	m := newMachine(t)
	m.finished()
	d := m.dashboard("▸ node")
	d.Type("jjjjk", "▸ codex")
	d.Type(":doctor"+enter, "inside the box")
	d.Type(esc, "▸ codex")
	d.Type("l"+backTab+"?", "▸ recovery", "type to search")
	d.Type(esc)
	d.Hides("type to search")
	d.Type("qq")
	ends(t, d, 0)
}

func TestDashboardResizes(t *testing.T) {
	m := newMachine(t)
	m.finished()
	d := m.dashboard("┌ components")
	d.Resize(40, 10)
	d.Shows("needs 60x16; q quits")
	d.Resize(1, 1)
	d.Hides("needs")
	d.Resize(120, 40)
	d.Shows("┌ components", strings.Repeat("─", 80))
	d.Resize(60, 16)
	d.Shows("components ───")
	d.Hides("┌ components")
	d.Type("q")
	ends(t, d, 0)
}

// Canceling asks first, with no as its answer, and undoes; the dashboard goes on.
func TestDashboardCancelsACreate(t *testing.T) {
	m := newMachine(t)
	d := m.creating()
	d.Type("x", "Cancel the create?")
	d.Type(enter)
	d.Hides("Cancel the create?")
	d.Type("q", "Leave while the create is under way?")
	d.Type("n")
	d.Hides("Leave while")
	d.Type("xy", "create canceled after", "create was canceled; what it had done is undone", "↩ make the VM")
	m.nothing()
	rest()
	d.Type(enter, "create the box")
	d.Type("q")
	ends(t, d, 0)
}

// rest is a while without keys: what is typed at once is not meant for what has just appeared.
func rest() { time.Sleep(450 * time.Millisecond) }

// The name of the box has to be typed; nothing else destroys it.
func TestDashboardDestroysByName(t *testing.T) {
	m := newMachine(t)
	m.finished()
	d := m.dashboard("▸ node")
	d.Type("X", "Destroy main")
	d.Type(enter, "type main")
	d.Type("mian"+enter, "! type main")
	d.Type(ctrlU+"main"+enter, "✓ main is gone")
	m.nothing()
	d.Type(ctrlC) // q would be taken for a key in flight
	ends(t, d, 0)
}
