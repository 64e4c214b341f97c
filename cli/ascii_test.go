package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hermes-box/internal/ttytest"
)

// Verbs print only ASCII where the locale is not UTF-8 or --ascii is given. JSON is the same everywhere.
func TestVerbsInASCII(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	for _, c := range []struct {
		env  string
		args []string
		want string
	}{
		{"LC_ALL=C", []string{"status"}, "main  o stopped"},
		{"LC_ALL=C.UTF-8", []string{"status"}, "main  ○ stopped"},
		{"LC_ALL=C.UTF-8", []string{"status", "--ascii"}, "main  o stopped"},
		{"LC_ALL=C.UTF-8", []string{"--ascii", "doctor"}, "v pass    other operations"},
		{"LC_ALL=C", []string{"stop"}, "stopped"},
		{"LC_ALL=C", []string{"help"}, "isolated"},
		{"LC_ALL=C", []string{"logs", "commands"}, "limactl list"},
		{"LC_ALL=C", []string{"status", "--json"}, `"state":"stopped"`},
	} {
		cmd := m.cmd("", c.args...)
		cmd.Env = append(cmd.Env, c.env)
		out, _ := cmd.CombinedOutput()
		ascii := strings.HasSuffix(c.env, "=C") || strings.Contains(strings.Join(c.args, " "), "--ascii")
		if !strings.Contains(string(out), c.want) || ascii && strings.ContainsFunc(string(out), func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Errorf("%s %v: %q", c.env, c.args, out)
		}
	}
}

// The sign-in forms of login are drawn in ASCII too.
func TestLoginInASCII(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	tm := ttytest.Start(t, m.cmd("", "login", "--ascii"), 80, 24)
	tm.Shows("Sign in to box main: 0 of 6 done", "> ~ Claude Code")
	tm.Type(enter, "works with your Anthropic account", "> Run it here")
	tm.Type(esc, "> ~ Claude Code")
	tm.Type(esc, "0 of 6 signed in")
	wantExit(t, tm, 0)
	if out := tm.Output(); strings.ContainsFunc(out, func(r rune) bool { return r >= utf8.RuneSelf }) {
		t.Errorf("%q", out)
	}
}
