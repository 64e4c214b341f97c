package layout

import (
	"slices"
	"testing"
)

// Hermes would download a scanner that the lock does not pin, in a terminal and in the agents that the helper runs.
func TestEnvironmentPinsPrograms(t *testing.T) {
	for _, want := range []string{"TIRITH_ENABLED=false", "DISABLE_UPDATES=1", "DISABLE_AUTOUPDATER=1", "HERMES_DISABLE_LAZY_INSTALLS=1"} {
		if !slices.Contains(Environment, want) {
			t.Errorf("the environment has no %s", want)
		}
	}
}
