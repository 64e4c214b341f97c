package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/fault"
)

// held makes operations run until the test ends them or they are canceled.
func held(f *fake) (end chan error) {
	end = make(chan error)
	f.run = func(ctx context.Context, sink ops.Sink) error {
		sink(ops.Event{Time: noon, Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "boot", Title: "boot the VM"}}})
		sink(ops.Event{Time: noon, Kind: ops.Started, Step: "boot", Title: "boot the VM"})
		select {
		case err := <-end:
			return err
		case <-ctx.Done():
			return fault.New(fault.Interrupted, "create was interrupted")
		}
	}
	return end
}

// settle handles the events of the operation until it has ended.
func settle(t *testing.T, m *model) {
	t.Helper()
	for !m.op.ended {
		b := m.op.feed.next(t.Context())
		m.progressed(b)
		if b.ended && !m.op.ended {
			t.Fatal("the feed has ended, but not the operation")
		}
	}
}

// q during an operation asks first. If the answer is yes, the operation is canceled and its outcome is reported once.
func TestQuitDuringAnOperation(t *testing.T) {
	f := noBox()
	end := held(f)
	m := on(f)
	press(m, "enter", "q")
	if !strings.Contains(screen(m), "Leave while the create is under way?") {
		t.Fatal(screen(m))
	}
	if press(m, "enter"); m.dialog != nil || m.ctx.Err() != nil {
		t.Fatal("enter quits")
	}
	press(m, "q")
	if cmd := press(m, "y"); cmd == nil || m.ctx.Err() == nil || !m.op.canceled {
		t.Fatal("y does not quit, or does not cancel the operation")
	}
	settle(t, m)
	close(end)
	// The operation may end before the dashboard or after it. Its outcome is reported once.
	var out strings.Builder
	err := m.waitUndone(&out)
	if m.reportUnread(&out); fault.CodeOf(err) != fault.Interrupted || out.String() != "" {
		t.Errorf("%v %q", err, out.String())
	}
}

// After a failed create is closed, the first view shows the checks of this machine.
func TestChecksAfterAFailedCreate(t *testing.T) {
	f := noBox()
	f.run = func(context.Context, ops.Sink) error { return errors.New("no room is left") }
	m := testModel(f, 80, 24)
	drain(m, m.Init())
	drain(m, m.pressID("create"))
	settle(t, m)
	now := noon.Add(time.Minute)
	m.now = func() time.Time { return now }
	drain(m, press(m, "enter"))
	if s := screen(m); !strings.Contains(s, "✓ has all it needs") {
		t.Error(s)
	}
}

// The progress of a step is shortened by leaving out parts. Numbers are never cut.
func TestStepProgressCutsNoNumber(t *testing.T) {
	m := testModel(noBox(), 80, 24)
	s := &step{detail: "claude smoke", begun: noon.Add(-1200 * time.Millisecond)}
	for w, want := range map[int]string{17: "claude smoke · 1s", 16: "claude smoke"} {
		if got := ansi.Strip(s.progress(m.page(), w)); got != want {
			t.Errorf("%d cells: %q", w, got)
		}
	}
	s.detail = "executor stage, hermes stage, claude smoke"
	for w, want := range map[int]string{46: "executor stage, hermes stage, claude smoke", 22: "executor stage +2", 18: "executor stage +2"} {
		if got := ansi.Strip(s.progress(m.page(), w)); got != want {
			t.Errorf("%d cells: %q", w, got)
		}
	}
}

// A failed step names the phase that failed, not a phase that was undone afterwards.
func TestStepNamesTheFailedPhase(t *testing.T) {
	o := &operation{}
	for _, e := range []ops.Event{
		{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "install", Title: "install"}}},
		{Kind: ops.Started, Step: "install", Title: "install"},
		{Kind: ops.Phase, Step: "install", Component: "executor", Phase: protocol.PhaseHealth, State: protocol.Failed},
		{Kind: ops.Phase, Step: "install", Component: "executor", Phase: protocol.PhaseActivate, State: protocol.Undone},
		{Kind: ops.Failed, Step: "install", Title: "install", Error: "no"},
	} {
		o.apply(e)
	}
	if got := o.steps[0].detail; got != "executor health" {
		t.Errorf("the step failed at %q, want executor health", got)
	}
}

// The clock of an operation continues without the focus, since the terminal may be visible. There is never more than
// one pulse.
func TestPulse(t *testing.T) {
	m := on(noBox())
	creating(9, nil)(m)
	var due []tea.Msg
	m.after = func(_ time.Duration, msg tea.Msg) tea.Cmd {
		if _, ok := msg.(pulseMsg); ok {
			due = append(due, msg)
		}
		return nil
	}
	m.op.startPulse(m.worker)
	m.update(tea.BlurMsg{})
	m.op.startPulse(m.worker) // before the first is due
	for range 3 {
		all := due
		due = nil
		for _, msg := range all {
			m.update(msg)
		}
		if len(due) != 1 {
			t.Fatalf("%d pulses", len(due))
		}
	}
	m.op.finish(nil, noon)
	if msg := due[0]; m.update(msg) != nil || len(due) != 1 {
		t.Error("the pulse continues after the operation has ended")
	}
}
