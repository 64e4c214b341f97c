package cli

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"hermes-box/ops"
)

// If nobody reads its output, a verb exits with 141, the status of a command that SIGPIPE ends. A verb that changes the box
// has done its work by then.
func TestExitStatusWithoutAReader(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"doctor"}, {"help"}, {"stop"}, {"start"}, {"destroy", "--force"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := m.cmd("", args...)
		var stderr bytes.Buffer
		c.Stdout, c.Stderr = w, &stderr
		if err := c.Run(); c.ProcessState.ExitCode() != exitPipe || strings.Contains(stderr.String(), "hermes-box:") {
			t.Errorf("%v: %v: %s", args, err, stderr.String())
		}
		w.Close()
		if want := map[string]string{"start": "running", "stop": "stopped"}[args[0]]; want != "" {
			if st := decode[ops.Status](t, m.must("status", "--json")).Result; st.State != want {
				t.Errorf("%v: the box is %s", args, st.State)
			}
		}
	}
	if remaining := m.inventory(); !slices.Equal(remaining, []string{"key main.age-identity", "key main.json"}) {
		t.Errorf("destroy left %v", remaining)
	}
	// A full disk is an error.
	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		c := m.cmd("", "status")
		var stderr bytes.Buffer
		c.Stdout, c.Stderr = full, &stderr
		if c.Run(); c.ProcessState.ExitCode() != exitFailed || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v: %s", c.ProcessState, stderr.String())
		}
		full.Close()
	}
}

// logs -f exits when its reader exits, even if nothing is written to the log.
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
