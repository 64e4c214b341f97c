package cli

import (
	"strings"
	"testing"
	"time"
)

// If systemd has given up on a service, start fails soon and does not wait for the service any longer. It prints a hint
// for the service's log and says that the VM stays up, so that the failure can be examined.
func TestStartFailsAtOnceWhenSystemdGivesUpOnAService(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("stop", "--quiet")
	inject(t, m, "health-fails")
	begun := time.Now()
	_, stderr, err := m.run("start")
	if took := time.Since(begun); err == nil || took > 2*time.Minute { // start waits up to ten minutes for a service that may still become healthy
		t.Errorf("after %v: %v", took, err)
	}
	for _, want := range []string{"demo executor: ended with status 1\n", "hermes-box: executor: failed, ", "hint: to see more: hermes-box logs executor", "not undone: boot the VM: the VM stays up; to stop it: hermes-box stop"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in:\n%s", want, stderr)
		}
	}
	if strings.Contains(stderr, "undone: boot the VM\n") {
		t.Errorf("start says that the boot was undone:\n%s", stderr)
	}
	if out := m.must("status"); !strings.Contains(out, "✗ degraded") || !strings.Contains(out, "✗ failed") {
		t.Error(out)
	}
	heal(t, m, "health-fails")
	m.must("restart", "--quiet")
	m.wantSound("a restart of a box whose executor failed")
}
