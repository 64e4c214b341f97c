package tui

import (
	"fmt"
	"strings"
	"testing"
)

// Matches on the last screen of a log cannot be scrolled to the top; n still goes from one to the next.
func TestSearchOnTheLastScreen(t *testing.T) {
	m := logOf("hermes", manyLines(100))
	screen(m)
	press(m, "/", "9", "enter") // 19, ..., 89, 90 to 99; from 81 on is on the screen
	for _, want := range []string{"89", "90", "91"} {
		s := screen(m)
		if got := fmt.Sprint(m.logs.drawn.matches[m.logs.match-1]); got != want {
			t.Errorf("line %s is found, want %s:\n%s", got, want, s)
		}
		press(m, "n")
	}
	press(m, "n", "n", "n", "n", "n", "n", "n")
	if s := screen(m); !strings.Contains(s, "/9: match 19 of 19") {
		t.Errorf("not at the last match:\n%s", s)
	}
	press(m, "n")
	if s := screen(m); !strings.Contains(s, "/9: match 1 of 19") || m.logs.top != 9 {
		t.Errorf("after the last match comes line %d, not the first match:\n%s", m.logs.top, s)
	}
	press(m, "N")
	if s := screen(m); !strings.Contains(s, "/9: match 19 of 19") {
		t.Errorf("before the first match does not come the last:\n%s", s)
	}
}

func TestEscLeavesTheSearchFirst(t *testing.T) {
	m := logOf("hermes", manyLines(10))
	screen(m)
	press(m, "/", "3")
	if s := screen(m); !strings.Contains(s, "enter find") {
		t.Errorf("the keys of the search are not shown:\n%s", s)
	}
	press(m, "enter", "esc")
	if m.view != onLogs || m.logs.query.Text != "" {
		t.Fatal("esc does not leave only the search")
	}
	press(m, "esc")
	if m.view != onDashboard {
		t.Error("esc does not leave the log")
	}
}
