package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hermes-box/internal/race"
	"hermes-box/internal/rehearsal"
	"hermes-box/ops"
)

// If restart is killed after any of its steps, status names that step, and start finishes the restart; no data is lost.
func TestKilledRestartIsFinishedByStart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	steps := m.steps("restart")
	if want := []string{"quiesce", "stop", "ports", "boot", "services", "verify"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	m.wantSound("a restart")
	for _, step := range race.Sample(steps, 3) {
		m.killAfter(step, "restart")
		st := decode[ops.Status](t, m.must("status", "--json")).Result
		if u := st.Underway; u == nil || u.Running || u.Operation != "restart" || u.Step != step || u.Repair != "hermes-box start" {
			t.Errorf("status after a restart that was killed at %s: %+v", step, u)
		}
		m.must(st.Underway.Resume, "--quiet")
		m.wantSound("a restart that was killed at " + step)
	}
	m.must("stop", "--quiet")
	m.must("restart", "--quiet")
	m.wantSound("a restart of a stopped box")
}

// A restart whose boot fails leaves the box stopped and says so; it does not say that the stop was undone.
func TestRestartThatCannotBootReportsStopped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	inject(t, m, rehearsal.StartFails)
	_, stderr, err := m.run("restart", "--events")
	var kept []string
	for line := range strings.Lines(stderr) {
		var e ops.Event
		if json.Unmarshal([]byte(line), &e) == nil {
			switch e.Kind {
			case ops.Kept:
				kept = append(kept, e.Step+": "+e.Line)
			case ops.Undone:
				if e.Step != "boot" {
					t.Errorf("undone: %s", e.Step)
				}
			}
		}
	}
	if want := []string{"stop: the box is stopped; to start it: hermes-box start"}; err == nil || !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q: %v\n%s", kept, want, err, stderr)
	}
	heal(t, m, rehearsal.StartFails)
	if out := m.must("status", "--json"); !strings.Contains(out, `"state":"stopped"`) {
		t.Error(out)
	}
	m.must("start", "--quiet")
	m.wantSound("a restart that could not boot")
}
