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

// A refresh keeps the selection. A box that was destroyed is no longer shown.
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

// When asking the box fails or hangs, the last answer stays and is shown with its age.
func TestStaleAnswerShowsItsAge(t *testing.T) {
	f := withStatus(runningStatus())
	m := on(f)
	now := noon
	m.now = func() time.Time { return now }
	f.status = func(ctx context.Context) (*ops.Status, error) { return nil, errors.New("no") }
	now = now.Add(time.Minute)
	drain(m, m.ask())
	if m.live == nil {
		t.Fatal("a failed status has removed the last answer")
	}
	if m.ask() == nil { // hangs: its command is not run
		t.Fatal("not asked")
	}
	now = now.Add(time.Minute)
	if s := screen(m); !strings.Contains(s, "no answer from the box for 1m") || !strings.Contains(s, "as seen 2m ago") {
		t.Error(s)
	}
	if m.ask() != nil {
		t.Error("a second status was requested before the first was answered")
	}
}

// Polling slows down while nothing changes, and a key makes it frequent again. It stops without the focus and resumes
// with it.
func TestPollingSlowsAndStops(t *testing.T) {
	m := on(withStatus(runningStatus()))
	for range 10 {
		drain(m, m.ask())
	}
	if m.poll.every != pollSeldom {
		t.Errorf("nothing changes, but the box is asked every %v", m.poll.every)
	}
	if press(m, "j"); m.poll.every != pollOften {
		t.Error("a key does not speed up polling")
	}
	f := m.box.(*fake)
	asked := func() int { return strings.Count(strings.Join(f.asked, " "), "status") }
	m.update(tea.BlurMsg{})
	before := asked()
	if drain(m, m.update(tickMsg{m.poll.turn})); asked() != before {
		t.Error("the box is asked without the focus")
	}
	if drain(m, m.update(tea.FocusMsg{})); asked() != before+1 {
		t.Error("the box is not asked when the focus returns")
	}
	if m.update(tickMsg{m.poll.turn - 1}) != nil {
		t.Error("an old tick is not ignored")
	}
}
