package tui

import (
	"strings"
	"testing"
)

// A disk that is nearly full is marked with a glyph, named above the panels, and the first suggestion finds the repair.
// A state that is not current is not marked.
func TestDiskThatIsNearlyFull(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		st := runningStatus()
		st.Guest.Root.Used = 29 << 30
		m := on(withStatus(st))
		m.update(sized(w, 24))
		s := screen(m)
		for _, want := range []string{"root! ", "! the root disk is 96 % full: doctor (d)", "1 repair what is wrong"} {
			if !strings.Contains(s, want) {
				t.Errorf("%d cells: no %q in\n%s", w, want, s)
			}
		}
		st = off("stopped")
		st.Guest.Root.Used = 29 << 30
		m = on(withStatus(st))
		m.update(sized(w, 24))
		if s := screen(m); strings.Contains(s, "root! ") || strings.Contains(s, "% full") {
			t.Errorf("%d cells: a box that is off is marked:\n%s", w, s)
		}
	}
}
