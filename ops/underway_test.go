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
