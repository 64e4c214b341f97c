package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// A refresh keeps selection and scroll; a box that is gone is no longer shown.
func TestRefreshKeepsThePlace(t *testing.T) {
	f := withStatus(runningStatus())
	m := on(f)
	press(m, "j", "j", "j")
	st := runningStatus()
	st.Guest.Load = 3
	f.status = func(context.Context) (*ops.Status, error) { return st, nil }
	drain(m, m.ask())
	if s := screen(m); !strings.Contains(s, "▸ codex") || !strings.Contains(s, "75 %") {
		t.Error(s)
	}
	f.known.Exists, f.known.Ready = false, false
	f.known.Status = &ops.Status{Box: "main", State: "absent"}
	drain(m, m.readFiles())
	if s := screen(m); !strings.Contains(s, "A box is a virtual machine") {
		t.Error(s)
	}
}

// A question that fails or hangs keeps the last answer, which is shown with its age.
func TestStaleIsToldApart(t *testing.T) {
	f := withStatus(runningStatus())
	m := on(f)
	now := noon
	m.now = func() time.Time { return now }
	f.status = func(ctx context.Context) (*ops.Status, error) { return nil, errors.New("no") }
	now = now.Add(time.Minute)
	drain(m, m.ask())
	if m.live == nil {
		t.Fatal("a failed question drops the last answer")
	}
	if m.ask() == nil { // and is not answered
		t.Fatal("not asked")
	}
	now = now.Add(time.Minute)
	if s := screen(m); !strings.Contains(s, "no answer from the box for 1m") || !strings.Contains(s, "as seen 2m ago") {
		t.Error(s)
	}
	if m.ask() != nil {
		t.Error("two questions are open at the same time")
	}
}

func TestPollingSlowsAndStops(t *testing.T) {
	m := on(withStatus(runningStatus()))
	for range 10 {
		drain(m, m.ask())
	}
	if m.poll.every != pollSeldom {
		t.Errorf("the box is still asked every %v though nothing changes", m.poll.every)
	}
	if press(m, "j"); m.poll.every != pollOften {
		t.Error("a key does not wake it")
	}
	f := m.box.(*fake)
	asked := func() int { return strings.Count(strings.Join(f.asked, " "), "status") }
	m.update(tea.BlurMsg{})
	before := asked()
	if drain(m, m.update(tickMsg{m.poll.turn})); asked() != before {
		t.Error("the box is asked though nobody looks")
	}
	if drain(m, m.update(tea.FocusMsg{})); asked() != before+1 {
		t.Error("the box is not asked when somebody looks again")
	}
	if m.update(tickMsg{m.poll.turn - 1}) != nil {
		t.Error("an old tick is not dropped")
	}
}
