package cli

import (
	"testing"

	"hermes-box/internal/rehearsal"
	"hermes-box/ops"
)

// A shared ssh connection that hangs, as after this machine has slept, is replaced and is not reported as a problem of
// the box.
func TestHungConnectionIsNotAProblemOfTheBox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	for _, args := range [][]string{{"status", "--json"}, {"logs", "hermes"}, {"doctor"}} {
		inject(t, m, rehearsal.StaleMaster)
		out := m.must(args...)
		if rehearsal.Has(m.lima(), rehearsal.StaleMaster) {
			t.Errorf("%v did not replace the connection", args)
		}
		if args[0] != "status" {
			continue
		}
		st := decode[ops.Status](t, out).Result
		if st.State != "running" || !st.Live || st.Cause != "" {
			t.Errorf("%+v", st)
		}
		for _, c := range st.Components {
			if c.State == ops.NotAsked {
				t.Errorf("%+v", c)
			}
		}
	}
	m.wantSound("a connection that hung")
}
