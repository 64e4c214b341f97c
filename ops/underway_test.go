package ops

import (
	"testing"

	"hermes-box/limactl"
)

// While a restart stops the box, the state is "stopping", and after that "starting".
func TestRestartIsShownAsStoppingThenStarting(t *testing.T) {
	vm := limactl.Instance{Name: "main", State: limactl.Running}
	steps := map[string]limactl.State{"ports": limactl.Starting, "boot": limactl.Starting, "verify": limactl.Starting}
	for _, step := range (&Box{}).stopSteps(vm, false) {
		steps[step.ID] = stopping
	}
	for step, want := range steps {
		u := &Underway{Operation: "restart", Running: true, Step: step}
		if got := u.during(); got != want {
			t.Errorf("at %s: %s, want %s", step, got, want)
		}
		u.Running = false
		if got := u.during(); got != "" {
			t.Errorf("cut off at %s: %s", step, got)
		}
	}
}

// While a stop is under way, a service that is already down does not make the box degraded, and no repair is shown.
func TestDeadForwardsDuringAStop(t *testing.T) {
	for _, c := range []struct {
		underway *Underway
		want     limactl.State
	}{
		{nil, limactl.Degraded},
		{&Underway{Operation: "stop", Step: stepQuiesce}, limactl.Degraded}, // it was cut off
		{&Underway{Operation: "stop", Running: true}, stopping},             // its step is not known
		{&Underway{Operation: "stop", Running: true, Step: stepQuiesce}, stopping},
		{&Underway{Operation: "start", Running: true, Step: "boot"}, limactl.Starting},
	} {
		st := &Status{State: string(limactl.Running), Live: true, Underway: c.underway, Forwards: []Port{{Service: "executor", Port: 1, State: PortNotForwarded}}}
		st.settleForwards(nil)
		problem := c.want == limactl.Degraded
		if st.State != string(c.want) || (st.Cause != "") != problem || (len(st.PortProblems()) != 0) != problem {
			t.Errorf("%v: %s, cause %q, problems %v", c.underway, st.State, st.Cause, st.PortProblems())
		}
	}
}
