package cli

import (
	"regexp"
	"strings"
	"testing"

	"hermes-box/internal/ttytest"
)

var colour = regexp.MustCompile(`\x1b\[(?:[0-9]+;)*(?:3[0-8]|4[0-8]|9[0-7])[;m]`)

// The flags and variables that select colours and ASCII take effect, and the dark and the light theme have colours.
func TestDashboardLooks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	for _, c := range []struct {
		flag, env string
		shows     string
		coloured  bool
	}{
		{"--quiet", "NO_COLOR=", "○ stopped", true},
		{"--quiet", "NO_COLOR=1", "○ stopped", false},
		{"--quiet", "HERMES_BOX_THEME=dark", "○ stopped", true},
		{"--quiet", "HERMES_BOX_THEME=light", "○ stopped", true},
		{"--color=never", "NO_COLOR=", "○ stopped", false},
		{"--color=always", "NO_COLOR=1", "○ stopped", true},
		{"--ascii", "NO_COLOR=", "o stopped", true},
		{"--quiet", "LANG=C", "o stopped", true},
	} {
		d := ttytest.Start(t, m.cmd("", c.flag), 80, 24, c.env)
		d.Shows(c.shows)
		if i := strings.IndexFunc(d.Text(), func(r rune) bool { return r > 0x7e }); i >= 0 && c.shows == "o stopped" {
			t.Errorf("%s %s: %.8q", c.flag, c.env, d.Text()[i:])
		}
		d.Type("q")
		wantExit(t, d, 0)
		if got := colour.MatchString(d.Output()); got != c.coloured {
			t.Errorf("%s %s: colour %v", c.flag, c.env, got)
		}
	}
}

func TestDashboardRefusesUnknownTheme(t *testing.T) {
	d := newMachine(t).dashboard("pink", "HERMES_BOX_THEME=pink")
	wantExit(t, d, exitUsage)
	if !strings.Contains(d.Output(), "ansi, dark or light") {
		t.Error(d.Output())
	}
}

// On a dumb terminal, and for screen readers, the status is printed as text.
func TestDashboardOnADumbTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	for env, escapes := range map[string]bool{"TERM=dumb": false, "ACCESSIBLE=1": true} {
		d := m.dashboard("○ stopped", env)
		wantExit(t, d, 0)
		if out := d.Output(); strings.Contains(out, "\x1b[?") || strings.Contains(out, "\x1b") != escapes {
			t.Errorf("%s: %q", env, out)
		}
	}
}
