package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Pasted text goes only where text is typed, and a large paste does not delay the next key.
func TestPaste(t *testing.T) {
	much := tea.PasteMsg{Content: strings.Repeat("\x1b[31mmain\n", 1<<20)}
	for _, c := range []struct {
		name, keys, paste, shows string
	}{
		{"goes into the palette", ":", "doct\n", ": doct"},
		{"goes into the name", "X", "main\n", "> main"},
		{"goes into a search", "l /", "gate\nway", "/gateway"},
		{"does not answer a question", "S", "y", "Stop main?"},
		{"presses no key", "", "Sy", "▸ node"},
		{"presses no key by its name", ":", "esc", ": esc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := withStatus(runningStatus())
			m := on(f)
			press(m, strings.Fields(c.keys)...)
			m.update(tea.PasteMsg{Content: c.paste})
			if got := screen(m); !strings.Contains(got, c.shows) || f.did("stop") {
				t.Errorf("%q is not shown:\n%s", c.shows, got)
			}
			begun := time.Now()
			m.update(much)
			press(m, "backspace")
			m.frame()
			if took := time.Since(begun); took > time.Second {
				t.Errorf("ten megabytes take %v", took)
			}
		})
	}
}
