package cli

import (
	"bufio"
	"os"
	"testing"
)

// Whoever follows a log into a pipe ends with the one who reads it, also while the log is silent.
func TestFollowingEndsWithItsReader(t *testing.T) {
	m := newMachine(t)
	m.write("home/logs/commands.ndjson", []byte(`{"time":"2026-01-01T00:00:00Z","command":"limactl list"}`+"\n"))
	for _, args := range [][]string{{"logs", "commands", "-f"}, {"logs", "commands", "-f", "--json"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := m.cmd("", args...)
		c.Stdout = w
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
			t.Error(err)
		}
		r.Close()
		if c.Wait(); c.ProcessState.ExitCode() != exitPipe {
			t.Errorf("%v: %v", args, c.ProcessState)
		}
	}
}
