package tui

import (
	"fmt"
	"strings"
	"testing"
)

// Without a match n is refused, with the reason.
func TestSearchWithoutAMatch(t *testing.T) {
	m := logOf("hermes", manyLines(100))
	screen(m)
	press(m, "/", "q", "enter")
	screen(m)
	press(m, "n")
	if s := screen(m); !strings.Contains(s, "next match: no line matches") {
		t.Error(s)
	}
}

// n also goes through the matches on the last screen of a log, although these lines cannot be scrolled to the top.
func TestSearchOnTheLastScreen(t *testing.T) {
	m := logOf("hermes", manyLines(100))
	screen(m)
	press(m, "/", "9", "enter") // matches 9, 19, ..., 89, 90 to 99; the last screen begins at 81
	for _, want := range []string{"89", "90", "91"} {
		s := screen(m)
		if got := fmt.Sprint(m.logs.drawn.matches[m.logs.match-1]); got != want {
			t.Errorf("line %s is found, want %s:\n%s", got, want, s)
		}
		press(m, "n")
	}
	press(m, "n", "n", "n", "n", "n", "n", "n")
	if s := screen(m); !strings.Contains(s, "/9: match 19 of 19") {
		t.Errorf("n does not go to the last match:\n%s", s)
	}
	press(m, "n")
	if s := screen(m); !strings.Contains(s, "/9: match 1 of 19") || m.logs.top != 9 {
		t.Errorf("n goes from the last match to line %d, not to the first match:\n%s", m.logs.top, s)
	}
	press(m, "N")
	if s := screen(m); !strings.Contains(s, "/9: match 19 of 19") {
		t.Errorf("N does not go from the first match to the last:\n%s", s)
	}
}

// esc first leaves the search, then the log.
func TestEscLeavesTheSearchFirst(t *testing.T) {
	m := logOf("hermes", manyLines(10))
	screen(m)
	press(m, "/", "3")
	if s := screen(m); !strings.Contains(s, "enter find") {
		t.Errorf("the footer of the search is missing:\n%s", s)
	}
	press(m, "enter", "esc")
	if m.view != onLogs || m.logs.query.Text != "" {
		t.Fatal("esc does not leave the search, or leaves the log")
	}
	press(m, "esc")
	if m.view != onDashboard {
		t.Error("esc does not leave the log")
	}
}
