package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patienceVariable names the variable that sets how long verbs wait for a limactl that does not answer.
const patienceVariable = "HERMES_BOX_CLI_TEST_PATIENCE"

// If limactl hangs, or prints one byte at a time, a verb waits for one timeout in all, however often it runs limactl.
// The hint is the command that hangs.
func TestHangingLimactlHasOneDeadline(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]string{
		"hangs":   "exec sleep 600",
		"dribble": "while :; do printf x; sleep 0.2; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.makeStoppedBox()
			m.write("stuck limactl", []byte("#!/bin/sh\ncase \"$*\" in\n*list*) "+hang+" ;;\nesac\nexec "+m.limactl+" \"$@\"\n"))
			stuck := filepath.Join(m.dir, "stuck limactl")
			if err := os.Chmod(stuck, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"doctor"}, {"start"}, {"stop"}, {"destroy", "--force"}} {
				c := m.cmd("", args...)
				c.Env = append(c.Env, "HERMES_BOX_LIMACTL="+stuck, patienceVariable+"=2s")
				var out bytes.Buffer
				c.Stdout, c.Stderr = &out, &out
				begun := time.Now()
				err := c.Run()
				if took := time.Since(begun); took > 15*time.Second { // the usual timeout of each call of limactl is 20 s
					t.Errorf("%v took %v", args, took)
				}
				if err == nil || !strings.Contains(out.String(), "no answer in 2") || !strings.Contains(out.String(), "LIMA_HOME="+m.lima()+" '"+stuck+"' ") {
					t.Errorf("%v: %v: %s", args, err, out.String())
				}
			}
		})
	}
}
