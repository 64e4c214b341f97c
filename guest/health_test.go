package guest_test

import (
	"os"
	"testing"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

func TestHealthOfAFreshRoot(t *testing.T) {
	s, err := newBox(t).Status(t.Context())
	must(t, err)
	if len(s.Components) != 6 {
		t.Fatalf("%+v", s.Components)
	}
	for _, c := range s.Components {
		if c.State != protocol.Stopped || c.Applied != "" {
			t.Errorf("%+v", c)
		}
	}
}

// A service that has just started and does not answer yet is starting. One that has not answered for minutes, or that
// keeps ending, has failed.
func TestASlowStartIsNoFailure(t *testing.T) {
	b := newFirst(t)
	now := time.Unix(1_800_000_000, 0)
	b.Now = func() time.Time { return now }
	b.write("data/home/agent/.hermes/gateway_state.json", `{"gateway_state":"starting"}`)
	must(t, os.Remove(b.Path("/var/lib/hermes-box/ports.env"))) // then executor is not healthy either
	for _, tt := range []struct {
		name string
		unit machine.Unit
		want string
	}{
		{"just started", machine.Unit{Active: "active", Since: now.Add(-time.Second)}, protocol.Starting},
		{"still not ready", machine.Unit{Active: "active", Since: now.Add(-3 * time.Minute)}, protocol.FailedState},
		{"keeps ending", machine.Unit{Active: "active", Since: now.Add(-time.Second), Restart: component.MaxRestarts}, protocol.FailedState},
		{"given up", machine.Unit{Active: "failed"}, protocol.FailedState},
	} {
		must(t, b.sys.Break("hermes.service", tt.unit))
		must(t, b.sys.Break("executor.service", tt.unit))
		s, err := b.Status(t.Context())
		must(t, err)
		for _, c := range s.Components[4:] {
			if want := tt.name == "keeps ending" || tt.name == "given up"; c.GivenUp != want || (c.Log != "") != want {
				t.Errorf("%s: given up on %s is %v, with log %q", tt.name, c.Name, c.GivenUp, c.Log)
			}
			if c.State != tt.want || c.Detail == "" {
				t.Errorf("%s: %s is %s: %q", tt.name, c.Name, c.State, c.Detail)
			}
		}
	}
}
