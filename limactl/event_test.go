package limactl

import "testing"

func TestWhatABootWaitsFor(t *testing.T) {
	for line, want := range map[string]string{
		`level=info msg="[hostagent] Waiting for the essential requirement 1 of 3: \"ssh\""`:                                  "ssh",
		`level=info msg="[hostagent] Waiting for the essential requirement 2 of 3: \"user session is ready for ssh\""`:        "the user session",
		`level=info msg="[hostagent] Waiting for the final requirement 1 of 1: \"boot scripts must have finished\""`:          "the boot scripts",
		`level=info msg="[hostagent] Waiting for the optional requirement 1 of 2: \"something that a later Lima waits for\""`: "something that a later Lima waits for",
		`level=info msg="[hostagent] The essential requirement 1 of 3 is satisfied"`:                                          "",
	} {
		if got := logEvent(line).Waits; got != want {
			t.Errorf("%s: waits for %q, want %q", line, got, want)
		}
	}
}
