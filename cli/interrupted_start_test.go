package cli

import (
	"strings"
	"testing"

	"hermes-box/ops"
)

// A start that is interrupted after the boot says that the VM stays up.
func TestInterruptedStartKeepsTheVM(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("stop", "--quiet")
	_, stderr, err := m.interrupted("boot", "", "start")
	if err == nil || !strings.Contains(stderr, "not undone: boot the VM: the VM stays up; to stop it: hermes-box stop") || strings.Contains(stderr, "↩ undone") {
		t.Errorf("%v %s", err, stderr)
	}
	if st := decode[ops.Status](t, m.must("status", "--json")).Result; !st.Live {
		t.Errorf("%+v", st)
	}
}
