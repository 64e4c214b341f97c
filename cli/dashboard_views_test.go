package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// These views and dialogs open by their keys, and by their names in the palette.
func TestDashboardReachesEveryView(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.replaceLock() // so that there is drift to see
	d := m.dashboard("▸ node")
	d.Shows("6 drift")
	for _, view := range []struct{ key, name, shows string }{
		{enter, "details", "desired "},
		{"v", "drift", "The box keeps running as it is"},
		{"l", "logs", "log of "},
		{"d", "doctor", "check again"},
		{"?", "help", "type to search"},
		{"X", "destroy", "Type the name of the box"},
		{"S", "stop", "Stop main?"},
		{"K", "force stop", "Force stop main?"},
		{"w", "sign in", "Sign in to box main"},
		{"a", "attach", "agent@demo:workspace$"},
	} {
		for _, keys := range []string{view.key, ":" + view.name + enter} {
			d.Type(keys, view.shows)
			d.Hides("enter details")
			if view.name == "attach" {
				d.Type("exit" + enter)
			} else {
				d.Type(esc)
			}
			d.Shows("enter details")
		}
	}
	d.Type("q")
	wantExit(t, d, 0)
}

// replaceLock replaces the lock with one that has other versions than those applied.
func (m *machine) replaceLock() {
	m.t.Helper()
	other, err := os.ReadFile(filepath.Join(m.dir, "demo-2.lock"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("hermes-box.lock", other)
}
