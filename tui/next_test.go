package tui

import (
	"strings"
	"testing"
)

// Many missing logins do not hide the other suggestions.
func TestManyLoginsLeaveRoomForOtherSuggestions(t *testing.T) {
	st := runningStatus()
	for i := range st.Components {
		st.Components[i].Last = "setup-required"
	}
	m := on(withStatus(st))
	if s := screen(m); !strings.Contains(s, "1 sign in to node") || !strings.Contains(s, "2 see what has drifted   3 work in the box") {
		t.Error(s)
	}
}

// someOf shortens a list to whole items and the number of those left out.
func TestSomeOf(t *testing.T) {
	for w, want := range map[int]string{30: "codex smoke, hermes stage", 24: "codex smoke +1", 14: "codex smoke +1", 5: "codex smoke, hermes stage"} {
		if got := someOf("codex smoke, hermes stage", w); got != want {
			t.Errorf("%d cells: %q, want %q", w, got, want)
		}
	}
}

// The palette does not match letters that are scattered over the description of a command.
func TestPaletteFindsWords(t *testing.T) {
	m := on(withStatus(runningStatus()))
	press(m, ":", "d", "e", "l")
	if s := screen(m); !strings.Contains(s, "▸ X         destroy") || strings.Contains(s, "follow") {
		t.Error(s)
	}
	press(m, "ctrl+u", "t", "m", "u", "x")
	if s := screen(m); !strings.Contains(s, "▸ a         attach") {
		t.Error(s)
	}
}
