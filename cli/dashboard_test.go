package cli

import (
	"strings"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/ttytest"
)

// dashboard starts hermes-box without a verb on a terminal, and waits until the terminal shows a text.
func (m *machine) dashboard(shows string, env ...string) *ttytest.Terminal {
	m.t.Helper()
	d := ttytest.Start(m.t, m.cmd("", "--mirror="+m.mirror), 80, 24, env...)
	d.Shows(shows)
	return d
}

// dashboardInCreate returns a dashboard that runs a create whose VM never finishes booting.
func (m *machine) dashboardInCreate() *ttytest.Terminal {
	m.t.Helper()
	inject(m.t, m, rehearsal.HoldBoot)
	d := m.dashboard("has all it needs")
	d.Type(enter, "▸ boot the VM")
	return d
}

// wantNothing fails if inventory lists anything.
func (m *machine) wantNothing() {
	m.t.Helper()
	if remaining := m.inventory(); len(remaining) != 0 {
		m.t.Errorf("remaining: %v", remaining)
	}
}

// Keys that arrive in one burst are all handled, in order.
func TestDashboardHandlesFastTyping(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	d := m.dashboard("▸ node")
	d.Type("jjjjk", "▸ codex")
	d.Type(":doctor"+enter, "inside the box")
	d.Type(esc, "▸ codex")
	d.Type("l"+backTab+"?", "▸ recovery", "type to search")
	d.Type(esc)
	d.Hides("type to search")
	d.Type("qq")
	wantExit(t, d, 0)
}

func TestDashboardResizes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
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
	wantExit(t, d, 0)
}

// Canceling a create asks first, with "no" as the default, and undoes the create; the dashboard stays open.
func TestDashboardCancelsACreate(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.dashboardInCreate()
	d.Type("x", "Cancel the create?")
	d.Type(enter)
	d.Hides("Cancel the create?")
	d.Type("q", "Leave while the create is under way?")
	d.Type("n")
	d.Hides("Leave while")
	d.Type("xy", "create canceled after", "create was canceled; what it had done is undone", "↩ make the VM")
	m.wantNothing()
	awaitKeys()
	d.Type(enter, "create the box")
	d.Type("q")
	wantExit(t, d, 0)
}

// awaitKeys waits until the dashboard accepts keys. It ignores keys for a moment after a dialog or a result has
// appeared.
func awaitKeys() { time.Sleep(450 * time.Millisecond) }

// Destroy asks for the name of the box. Without a backup, only force destroy removes a stopped box.
func TestDashboardDestroysByName(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	d := m.dashboard("▸ node")
	d.Type("X", "Destroy main")
	d.Type(enter, "type main")
	d.Type("mian"+enter, "! type main")
	d.Type(ctrlU+"main"+enter, "has no verified backup")
	awaitKeys()
	d.Type(esc, "start the box")
	d.Type(":force destroy"+enter, "Force destroy main")
	d.Type(enter, "type main")
	d.Type("main"+enter, "✓ main is gone")
	m.wantNothing()
	d.Type(ctrlC) // a q would be ignored, since it may have been typed before the result appeared
	wantExit(t, d, 0)
}
