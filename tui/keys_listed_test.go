package tui

import (
	"fmt"
	"strings"
	"testing"
)

// Each key that does something in a view is listed by ?, in every state of every view.
func TestKeysAreListed(t *testing.T) {
	names := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "left", "right", "backspace", "pgup", "pgdown", "home", "end"}
	for c := '!'; c <= '~'; c++ {
		names = append(names, string(c))
	}
	for c := 'a'; c <= 'z'; c++ {
		if c != 'i' && c != 'm' { // these are tab and enter
			names = append(names, "ctrl+"+string(c))
		}
	}
	for _, s := range scenes() {
		m := s.make(80, 24)
		if m.failure != nil || m.dialog != nil || m.finder != nil || m.logs.typing || m.files.typing { // these show their own keys
			continue
		}
		listed := map[string]bool{}
		for _, o := range (&finder{}).found(m.offers()) {
			for _, key := range strings.Fields(shownKeys(o.binding)) {
				listed[key] = true
			}
		}
		for _, name := range names {
			m := s.make(80, 24)
			before := whatKeysChange(m)
			cmd := press(m, name)
			if (cmd != nil || whatKeysChange(m) != before) && !listed[shown(name)] {
				t.Errorf("%s: ? does not list %s, which does something: %s", s.name, name, m.note)
			}
		}
	}
}

// whatKeysChange returns all that a key can change, but for a text in the footer.
func whatKeysChange(m *model) string {
	frame := screen(m)
	body := frame[:strings.LastIndex(frame, "\n")]
	return fmt.Sprint(body, m.view, m.mouse, m.dialog == nil, m.finder == nil, m.failure == nil, m.logs.follow, m.logs.wrap, m.ctx.Err(), m.op == nil)
}
