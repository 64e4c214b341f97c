package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/internal/ttytest"
)

// running is a finished box whose VM runs; its command log begins here.
func (m *machine) running() {
	m.t.Helper()
	m.finished()
	if _, stderr, err := m.run("limactl", "start", "--tty=false", "main"); err != nil {
		m.t.Fatal(err, stderr)
	}
	m.write("home/logs/commands.ndjson", nil)
}

// commands are the programs that were run for the box since running, with what they were given.
func (m *machine) commands() []string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.dir, "home/logs/commands.ndjson"))
	if err != nil {
		m.t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		all = append(all, commandText(style{}, []byte(strings.TrimSpace(line))))
	}
	return all
}

// Between the key and tmux there is one round trip to the box, whatever the terminal, and no limactl.
func TestAttachAsksTheBoxOnce(t *testing.T) {
	m := newMachine(t)
	m.running()
	for _, term := range []string{"xterm-256color", "rxvt"} {
		m.write("home/logs/commands.ndjson", nil)
		tm := ttytest.Start(t, m.cmd("", "ssh"), 80, 24, "TERM="+term)
		tm.Hears(`\$ `)
		tm.Type("exit\r")
		ends(t, tm, 0)
		if asked := m.commands(); len(asked) != 1 || !strings.Contains(asked[0], "ssh -F ") {
			t.Errorf("TERM=%s: asked %q", term, asked)
		}
	}
}
