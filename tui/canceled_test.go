package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// A canceled operation is not reported as failed, whichever view is shown when it ends.
func TestCanceledIsNotFailed(t *testing.T) {
	for _, away := range []bool{false, true} {
		f := noBox()
		held(f)
		m := on(f)
		press(m, "enter", "x", "y")
		if away {
			press(m, "esc")
		}
		settle(t, m)
		if m.failure != nil || m.lastFailure != nil {
			t.Errorf("away %v: it is reported as a failure", away)
		}
		if s := screen(m); strings.Contains(s, "failed") || !strings.Contains(s, "create was canceled") {
			t.Errorf("away %v: the screen does not say that create was canceled:\n%s", away, s)
		}
		var out strings.Builder
		m.reportUnread(&out)
		if out.Len() != 0 {
			t.Errorf("away %v: quitting prints %q", away, out.String())
		}
	}
}

// A canceled operation that could not be undone is a failure: something was left behind.
func TestCanceledButNotUndone(t *testing.T) {
	o := &operation{verb: verbs()[0], box: "main", canceled: true, feed: newFeed(mergeEvents)}
	o.apply(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "vm", Title: "make the VM"}}})
	o.apply(ops.Event{Kind: ops.Undone, Step: "vm", Title: "make the VM", Error: "it stays"})
	o.finish(fault.New(fault.Interrupted, "create was interrupted"), noon)
	if o.wasCanceled() || o.ending() != "failed" {
		t.Error("it is reported as undone")
	}
}

// After a failure no step is shown as running, and the failed step names the phase that failed.
func TestNothingRunsAfterAFailure(t *testing.T) {
	m := on(noBox())
	creating(9, errors.New("codex does not run"))(m)
	m.op.grid["hermes"]["stage"] = protocol.Started
	m.op.finish(m.op.err, noon)
	if s := screen(m); strings.Contains(s, "▸") || !strings.Contains(s, "failed at codex smoke") {
		t.Errorf("a step is shown as running:\n%s", s)
	}
}

// r tries a failed operation again. It has no effect on one that is still running.
func TestTryAgain(t *testing.T) {
	f := noBox()
	f.run = func(context.Context, ops.Sink) error { return errors.New("no room is left") }
	m := on(f)
	press(m, "enter")
	if press(m, "r"); !strings.Contains(m.note, "under way") {
		t.Errorf("r shows %q while the operation runs", m.note)
	}
	settle(t, m)
	m.op.grace = widget.Grace{}
	first := m.op
	press(m, "r")
	if m.op == first || m.view != onOperation {
		t.Error("r does not try again")
	}
	settle(t, m)
}

// After a create that failed in the background, the first view shows what this machine lacks.
func TestChecksAfterACreateFailedInTheBackground(t *testing.T) {
	f := noBox()
	end := held(f)
	f.checks = lackingHost()
	m := testModel(f, 80, 24)
	m.pressID("create")
	press(m, "esc")
	end <- errors.New("no room is left")
	settle(t, m)
	m.failure = nil
	drain(m, m.learn(f.known))
	if s := screen(m); m.place() != onFirst || !strings.Contains(s, "3 failed") {
		t.Errorf("the checks are not shown:\n%s", s)
	}
}

// A start installs nothing, so the grid shows only the health column.
func TestColumns(t *testing.T) {
	m := on(withStatus(runningStatus()))
	o := &operation{verb: verbs()[1], begun: noon, feed: newFeed(mergeEvents)}
	m.op, m.view = o, onOperation
	o.apply(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "verify", Title: "check the box"}}})
	o.apply(ops.Event{Kind: ops.Phase, Step: "verify", Component: "node", Phase: protocol.PhaseHealth, State: protocol.Healthy})
	if s := screen(m); !strings.Contains(s, "software   health") || strings.Contains(s, "stage") {
		t.Errorf("the health column is missing or not the only one:\n%s", s)
	}
}

func TestSoFar(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Second: "0s", 2900 * time.Millisecond: "2s", 12 * time.Second: "12s", 62 * time.Second: "1m02s"} {
		if got := widget.SoFar(d); got != want {
			t.Errorf("SoFar(%v) = %q, want %q", d, got, want)
		}
	}
}

// The keys that an outcome names work while it is shown.
func TestKeysOfTheOutcome(t *testing.T) {
	f := withStatus(runningStatus())
	m := on(f)
	creating(13, nil)(m)
	if s := screen(m); !strings.Contains(s, "w sign in") {
		t.Fatal(s)
	}
	if cmd := press(m, "w"); cmd == nil || m.note != "" || m.view != onDashboard || m.op != nil {
		t.Errorf("w does not sign in: %q", m.note)
	}
	creating(13, nil)(m)
	if press(m, "S"); m.dialog == nil {
		t.Errorf("S does not stop: %q", m.note)
	}
}

func TestWhyStartIsNotOffered(t *testing.T) {
	m := on(noBox())
	press(m, "d")
	if press(m, "s"); m.op != nil || !strings.Contains(m.note, "there is no box") || strings.Contains(screen(m), "s start") {
		t.Errorf("s without a box: note %q, operation %v", m.note, m.op)
	}
}

// If no check fails, doctor selects the first warning.
func TestDoctorSelectsFirstWarning(t *testing.T) {
	f := withStatus(runningStatus())
	f.checks = healthyHost()
	f.checks[7].Verdict, f.checks[7].Repair = ops.Warn, "look"
	m := testModel(f, 80, 16)
	drain(m, press(m, "d"))
	if s := screen(m); !strings.Contains(s, "▸ ! warn") || !strings.Contains(s, "more") {
		t.Error(s)
	}
}

// A login is suggested even for a component that has drifted.
func TestNextSuggestsLoginOfDrifted(t *testing.T) {
	st := runningStatus()
	for i := range st.Components {
		st.Components[i].Drift = "version"
	}
	if s := screen(on(withStatus(st))); !strings.Contains(s, "1 sign in to Claude") {
		t.Error(s)
	}
}

// If a running box does not answer, the first suggestion is to find out why.
func TestNextWhenNobodyAnswers(t *testing.T) {
	m := on(withStatus(off("running")))
	m.failed = errors.New("limactl list: no answer in 5s")
	if s := screen(m); !strings.Contains(s, "1 find out what is wrong") {
		t.Error(s)
	}
}

// A canceled step is not shown as failed, and neither is its column of the grid. The same holds for a step that was
// stopped because another step failed.
func TestCanceledUploadIsNotFailed(t *testing.T) {
	for name, c := range map[string]struct {
		canceled bool
		err      string
	}{"canceled": {true, "signal: killed"}, "stopped by another step": {false, "upload: context canceled"}} {
		m := on(noBox())
		o := &operation{verb: verbs()[0], begun: noon, feed: newFeed(mergeEvents), canceled: c.canceled}
		m.op, m.view = o, onOperation
		o.apply(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "upload", Title: "upload the software", Phase: protocol.PhaseUpload}}})
		o.apply(ops.Event{Kind: ops.Phase, Component: "node", Phase: protocol.PhaseStage, State: protocol.Done})
		o.apply(ops.Event{Kind: ops.Started, Step: "upload", Title: "upload the software", Time: noon})
		o.apply(ops.Event{Kind: ops.Failed, Step: "upload", Title: "upload the software", Error: c.err})
		if s := screen(m); strings.Contains(s, "✗") || !strings.Contains(s, "– upload the software") || strings.Count(s, "↩") != 6 {
			t.Errorf("%s:\n%s", name, s)
		}
	}
}
