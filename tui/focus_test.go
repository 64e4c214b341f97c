package tui

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
)

// stoppedThenStarted returns an unfocused dashboard that shows a stopped box, and the fake of that box, which another
// process has started since.
func stoppedThenStarted(t *testing.T) (*model, *fake) {
	t.Helper()
	f := withStatus(off("stopped"))
	m := on(f)
	m.update(tea.BlurMsg{})
	f.known.Status = off("running")
	f.status = func(context.Context) (*ops.Status, error) { return runningStatus(), nil }
	if s := screen(m); !strings.Contains(s, "○ stopped") {
		t.Fatal(s)
	}
	return m, f
}

// Terminals do not always report that they have the focus again. A key, a paste or the mouse counts as focus, so a box
// that was started elsewhere is then shown as running.
func TestInputCountsAsFocus(t *testing.T) {
	for name, msg := range map[string]tea.Msg{"key": key("j"), "paste": tea.PasteMsg{Content: "x"}, "mouse": tea.MouseWheelMsg{Button: tea.MouseWheelDown}} {
		m, _ := stoppedThenStarted(t)
		drain(m, m.update(msg))
		if s := screen(m); strings.Contains(s, "stopped") || !strings.Contains(s, "● running") || !strings.Contains(s, "up 3d 4h") {
			t.Errorf("%s:\n%s", name, s)
		}
	}
}

// Without the focus the dashboard reads the host's files but does not ask the box. A box that was started elsewhere is
// shown as running, and older data is shown with its age.
func TestUnfocusedReadsFiles(t *testing.T) {
	m, f := stoppedThenStarted(t)
	n := len(f.asked)
	drain(m, m.update(tickMsg{m.poll.turn}))
	if s := screen(m); !strings.Contains(s, "● running") || !strings.Contains(s, "as seen 3h ago") || strings.Contains(s, "○ stopped") {
		t.Error(s)
	}
	if len(f.asked) != n {
		t.Errorf("the box was asked: %v", f.asked[n:])
	}
}

// While the box is not asked, the uptime continues to count, and everything else is shown with its age.
func TestUnfocusedShowsAge(t *testing.T) {
	m := on(withStatus(runningStatus()))
	m.update(tea.BlurMsg{})
	m.now = func() time.Time { return noon.Add(2 * time.Hour) }
	m.update(tickMsg{m.poll.turn})
	if s := screen(m); !strings.Contains(s, "up 3d 6h") || !strings.Contains(s, "as seen 2h ago") {
		t.Error(s)
	}
}

// A key acts on the state at the time it is pressed, not on that of the last poll.
func TestKeysActOnCurrentState(t *testing.T) {
	for _, blurred := range []bool{true, false} {
		f := withStatus(off("stopped"))
		m := on(f)
		m.poll.blurred = blurred
		elsewhere := *off("stopped")
		elsewhere.Underway = &ops.Underway{Operation: "start", Running: true, PID: 1 << 22, Started: noon}
		f.known.Status = &elsewhere
		press(m, "o")
		if m.view != onOperation || m.op == nil || !m.op.watched {
			t.Errorf("blurred %v: o does not show the start that is under way: %s", blurred, m.note)
		}
		if m.op != nil {
			m.op.stop()
		}
		m.tasks.wait(time.Second)
	}
}

// While another process stops the box, it is not shown as degraded.
func TestStopByAnotherProcessIsNotDegraded(t *testing.T) {
	st := runningStatus()
	st.State = "degraded"
	st.Underway = &ops.Underway{Operation: "stop", Running: true, PID: 1 << 22, Started: noon}
	if s := screen(on(withStatus(st))); strings.Contains(s, "✗ degraded") || !strings.Contains(s, "◌ stop under way") {
		t.Error(s)
	}
}

// During a start the components are not shown as stopped. Their state comes from the events of the start.
func TestComponentsDuringAStart(t *testing.T) {
	f := withStatus(off("stopped"))
	end := held(f)
	m := on(f)
	press(m, "s", "esc")
	if s := screen(m); strings.Contains(s, "○ stopped") || !strings.Contains(s, "○ was healthy") {
		t.Errorf("before the first event:\n%s", s)
	}
	m.own.apply(ops.Event{Kind: ops.Phase, Step: "boot", Component: "node", Phase: protocol.PhaseHealth, State: protocol.Healthy})
	if s := screen(m); !strings.Contains(s, "✓ healthy") {
		t.Errorf("node is not shown as healthy:\n%s", s)
	}
	end <- nil
	settle(t, m)
}

// A status that was requested before the box changed is dropped.
func TestOlderAnswersAreDropped(t *testing.T) {
	m := on(withStatus(off("stopped")))
	asked := noon.Add(time.Second)
	m.now = func() time.Time { return noon.Add(2 * time.Second) }
	k := m.known
	k.Status = off("running")
	m.update(knownMsg{k})
	m.update(statusMsg{status: off("stopped"), asked: asked, at: m.now()})
	if s := screen(m); strings.Contains(s, "○ stopped") {
		t.Error(s)
	}
}

// If the box was last seen in the future, because the clock of this machine was set back, no age is negative.
func TestSeenInTheFuture(t *testing.T) {
	st := off("stopped")
	at := noon.Add(time.Hour)
	st.Seen = &at
	m := on(withStatus(st))
	if s := screen(m); !strings.Contains(s, "as seen 1s ago") || strings.Contains(s, "seen -") {
		t.Error(s)
	}
	m = on(withStatus(runningStatus()))
	m.now = func() time.Time { return noon.Add(-2 * time.Hour) }
	m.update(tea.BlurMsg{})
	m.update(tickMsg{m.poll.turn})
	if s := screen(m); negative.MatchString(s) {
		t.Error(s)
	}
}

// negative matches a negative duration.
var negative = regexp.MustCompile(`-[0-9]+[smhd]`)

// Without the focus, each pulse shows the time that an operation has taken by then.
func TestUnfocusedOperationClock(t *testing.T) {
	m := on(noBox())
	creating(9, nil)(m)
	var due []tea.Msg
	m.after = func(_ time.Duration, msg tea.Msg) tea.Cmd {
		due = append(due, msg)
		return nil
	}
	m.op.startPulse(m.worker)
	m.update(tea.BlurMsg{})
	before := screen(m)
	m.now = func() time.Time { return noon.Add(time.Hour) }
	for _, msg := range due {
		m.update(msg)
	}
	if after := screen(m); len(due) == 0 || after == before || !strings.Contains(after, "1h") {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
