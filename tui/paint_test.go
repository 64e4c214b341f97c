package tui

import (
	"context"
	"strings"
	"testing"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// No glyph is from a private use area, and each has an ASCII substitute.
func TestGlyphs(t *testing.T) {
	for _, s := range scenes() {
		for _, r := range screen(s.make(120, 40)) {
			if r >= 0xe000 && r <= 0xf8ff {
				t.Errorf("%s: private glyph %q", s.name, r)
			}
			if widget.ToASCII(string(r)) == "?" && r > 0x7e {
				t.Errorf("%s: %q has no substitute", s.name, r)
			}
		}
		m := s.make(80, 24)
		want := strings.Count(m.frame(), "\n")
		m.ascii = true
		frame := m.frame()
		for _, r := range frame {
			if r > 0x7e {
				t.Fatalf("%s: %q is not ASCII", s.name, r)
			}
		}
		if strings.Count(frame, "\n") != want {
			t.Errorf("%s has another number of lines in ASCII", s.name)
		}
	}
}

// Control characters in text from the box do not reach the terminal.
func TestTextFromTheBoxIsSanitized(t *testing.T) {
	f := withStatus(runningStatus())
	st := runningStatus()
	st.Cause = "evil\x1b[2J\x1b]0;title\x07\r\x08\u202e text\u200b"
	st.Components[1].Detail = "a\tb\x1b[31m"
	f.status = func(context.Context) (*ops.Status, error) { return st, nil }
	m := on(f)
	for _, bad := range []string{"\x1b[2J", "\x1b]0", "\x07", "\r", "\x08", "\u202e", "\u200b", "\t"} {
		if strings.Contains(m.frame(), bad) {
			t.Errorf("%q reaches the terminal", bad)
		}
	}
	if !strings.Contains(screen(m), "evil text") {
		t.Error(screen(m))
	}
}

func TestReadable(t *testing.T) {
	for line, want := range map[string]string{
		"plain \x1b[31mred\x1b[0m\r": "plain red",
		`{"time":"2026-06-15T12:00:00Z","event":"started","title":"boot the VM"}`:                              "12:00:00  boot the VM: started",
		`{"time":"2026-06-15T12:00:00Z","event":"done","title":"boot the VM","seconds":72}`:                    "12:00:00  boot the VM: done in 1m12s",
		`{"time":"2026-06-15T12:00:00Z","event":"phase","component":"uv","phase":"stage","state":"done"}`:      "12:00:00  uv stage: done",
		`{"time":"2026-06-15T12:00:00Z","command":"limactl list","seconds":0.2,"status":1,"stderr":"no\nway"}`: "12:00:00  ✗   0.2s  limactl list: no | way",
		`{"some":"json"}`: `{"some":"json"}`,
		`{broken`:         `{broken`,
	} {
		if got := readable(line); got != want {
			t.Errorf("readable(%q) = %q, want %q", line, got, want)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, s := range scenes() {
		b.Run(s.name, func(b *testing.B) {
			m := s.make(120, 40)
			for b.Loop() {
				m.frame()
			}
		})
	}
}
