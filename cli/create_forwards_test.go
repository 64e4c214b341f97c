package cli

import (
	"bytes"
	"strings"
	"testing"

	"hermes-box/internal/rehearsal"
)

// forwardWaitVariable names the variable that sets how long create and start wait for forwarded ports.
const forwardWaitVariable = "HERMES_BOX_CLI_TEST_FORWARD_WAIT"

// If the ports of the new box are not forwarded, create fails, and undoes what it has made. It does not report a box
// that status would call degraded.
func TestCreateFailsIfPortsAreNotForwarded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	inject(t, m, rehearsal.ForwardDead)
	c := m.cmd("", "create", "--quiet", "--mirror", m.mirror)
	c.Env = append(c.Env, forwardWaitVariable+"=2s")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err == nil || !strings.Contains(out.String(), `box "main" runs, but not forwarded to this machine: executor`) {
		t.Errorf("create: %v\n%s", err, out.String())
	}
	if out := m.must("status"); !strings.Contains(out, "not made yet") {
		t.Error(out)
	}
	heal(t, m, rehearsal.ForwardDead)
}
