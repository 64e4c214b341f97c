package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever limactl does, the dashboard works and quits, and no escape sequence of limactl reaches the terminal.
func TestDashboardSurvivesHostileLimactl(t *testing.T) {
	t.Parallel()
	const says = `\033]52;c;ZXZpbA==\007\033[6n\033[31mBAD\302\2336n\342\200\256`
	for name, script := range map[string]string{
		"floods stdout":    "exec cat /dev/zero",
		"floods stderr":    `exec yes "$(printf '` + says + `')" >&2`,
		"ignores signals":  "trap '' TERM INT HUP\nwhile :; do sleep 0.1; done",
		"prints garbage":   `printf '` + says + `\n{\n'`,
		"fails in colours": `printf '` + says + `\n' >&2; exit 3`,
		"crashes":          "kill -SEGV $$",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newBootedMachine(t)
			m.write("hostile", []byte("#!/bin/sh\n"+script+"\n"))
			hostile := filepath.Join(m.dir, "hostile")
			if err := os.Chmod(hostile, 0o755); err != nil {
				t.Fatal(err)
			}
			d := m.dashboard("a attach", "HERMES_BOX_LIMACTL="+hostile)
			d.Type("d", "check again")
			d.Type(esc)
			d.Hides("check again")
			d.Type("j", "▸ uv")
			if strings.Contains(name, "colours") {
				d.Shows("BAD")
			}
			d.Type("q")
			wantExit(t, d, 0)
			if out := d.Output(); strings.Contains(out, "\x1b]52") || strings.Contains(out, "\x1b[6n") || strings.Contains(out, "\u202e") {
				t.Errorf("an escape sequence reached the terminal: %q", out)
			}
			c := m.cmd("", "status")
			c.Env = append(c.Env, "HERMES_BOX_LIMACTL="+hostile)
			out, _ := c.CombinedOutput()
			if strings.ContainsAny(string(out), "\x1b\u009b\u202e\a") {
				t.Errorf("status: %q", out)
			}
		})
	}
}
