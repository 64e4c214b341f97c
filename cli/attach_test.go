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

// Between the key and tmux no program is run in the box and no limactl, whatever the terminal: that the connection works
// is proved by a round trip which needs none, and is not logged.
func TestAttachRunsNothingBefore(t *testing.T) {
	m := newMachine(t)
	m.running()
	for _, term := range []string{"xterm-256color", "rxvt"} {
		m.write("home/logs/commands.ndjson", nil)
		tm := ttytest.Start(t, m.cmd("", "ssh"), 80, 24, "TERM="+term)
		tm.Hears(`\$ `)
		tm.Type("exit\r")
		ends(t, tm, 0)
		if asked := m.commands(); len(asked) != 0 {
			t.Errorf("TERM=%s: asked %q", term, asked)
		}
	}
}
