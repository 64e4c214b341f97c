package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/internal/ttytest"
)

// makeBootedBox makes a stopped box, starts its VM and empties the command log.
func (m *machine) makeBootedBox() {
	m.t.Helper()
	m.makeStoppedBox()
	if _, stderr, err := m.run("limactl", "start", "--tty=false", "main"); err != nil {
		m.t.Fatal(err, stderr)
	}
	m.write("home/logs/commands.ndjson", nil)
}

// commands returns the entries of the command log: the programs that were run, with their arguments.
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

// Before the session starts, ssh runs neither limactl nor a program in the box, whatever the terminal. It checks the
// connection with a round trip that runs no program and is not logged.
func TestAttachRunsOnlyTheSession(t *testing.T) {
	m := newMachine(t)
	m.makeBootedBox()
	for _, term := range []string{"xterm-256color", "rxvt"} {
		m.write("home/logs/commands.ndjson", nil)
		tm := ttytest.Start(t, m.cmd("", "ssh"), 80, 24, "TERM="+term)
		tm.Hears(`\$ `)
		tm.Type("exit\r")
		wantExit(t, tm, 0)
		if ran := m.commands(); len(ran) != 0 {
			t.Errorf("TERM=%s: ran %q", term, ran)
		}
	}
}
