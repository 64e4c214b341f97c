package ttytest

import (
	"strings"

	"golang.org/x/term"
)

// Restored checks that the program has restored the terminal: its settings, no alternate screen, no mouse, no focus
// reports, no bracketed paste, a visible cursor.
func (t *Terminal) Restored() {
	t.t.Helper()
	if now, err := t.settings(); err != nil || *now != *t.found {
		t.t.Errorf("the settings of the terminal have changed (%v): %+v, before %+v", err, now, t.found)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for mode, name := range map[int]string{1049: "alternate screen", 1000: "mouse", 1002: "mouse", 1003: "mouse", 1006: "mouse", 1004: "focus reports", 2004: "bracketed paste"} {
		if t.modes[mode] {
			t.t.Errorf("mode %d (%s) is left on", mode, name)
		}
	}
	if t.screen.CursorHidden() {
		t.t.Error("the cursor is left hidden")
	}
	out := t.raw.String()
	for on, off := range map[string]string{"\x1b[>1u": "\x1b[<1u", "\x1b[>4;2m": "\x1b[>4m"} { // the two extended key protocols
		if strings.LastIndex(out, off) < strings.LastIndex(out, on) {
			t.t.Errorf("%q is not reset", on)
		}
	}
}

// settings returns the modes of the terminal, even after the program has ended, since both ends of a pty have the same
// modes.
func (t *Terminal) settings() (now *term.State, err error) {
	err = t.control(func(fd int) error {
		now, err = term.GetState(fd)
		return err
	})
	return now, err
}

// Mode reports whether a DEC private mode is set.
func (t *Terminal) Mode(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.modes[n]
}
