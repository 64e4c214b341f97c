package cli

import (
	"os"
	"path/filepath"
	"slices"
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

// Besides the session, hermes-box ssh runs neither limactl nor a program in the box, whatever TERM is. The test reads
// the command log, but ignores its entries about the attempt to reach the helper's service, which this VM lacks.
func TestAttachRunsOnlyTheSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBootedBox()
	for _, term := range []string{"xterm-256color", "rxvt"} {
		m.write("home/logs/commands.ndjson", nil)
		tm := ttytest.Start(t, m.cmd("", "ssh"), 80, 24, "TERM="+term)
		tm.Hears(`\$ `)
		tm.Type("exit\r")
		wantExit(t, tm, 0)
		ran := slices.DeleteFunc(m.commands(), func(c string) bool { return strings.Contains(c, "helper.sock") || strings.HasSuffix(c, "closed") })
		if len(ran) != 0 {
			t.Errorf("TERM=%s: ran %q", term, ran)
		}
	}
}
