package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// If an operation fails while another view is shown, its error appears there.
func TestFailureIsShownInEachView(t *testing.T) {
	f := noBox()
	end := held(f)
	m := on(f)
	press(m, "enter", "q")
	press(m, "n", "esc", "o", "x")
	if m.dialog == nil {
		t.Fatal(screen(m))
	}
	press(m, "n", "esc")
	end <- fault.New(fault.ExternalFailed, "no room is left").Hint("make room").Detail("output", "write: ENOSPC")
	settle(t, m)
	if s := screen(m); !strings.Contains(s, "no room is left") || !strings.Contains(s, "hint: make room") || !strings.Contains(s, "ENOSPC") {
		t.Fatal(s)
	}
	// Keys typed before the error could be read are ignored. After a pause a key closes it.
	now := noon
	m.now = func() time.Time { return now }
	for range 3 {
		now = now.Add(200 * time.Millisecond)
		if press(m, "enter"); m.failure == nil {
			t.Fatal("a key typed too early has closed the error")
		}
	}
	now = now.Add(widget.Pause)
	if press(m, "enter"); m.failure != nil {
		t.Fatal("the error does not close")
	}
	if press(m, "e"); m.failure == nil {
		t.Fatal("e does not show it again")
	}
	if press(m, "esc"); m.failure != nil {
		t.Fatal("an error that a key has opened ignores the first key")
	}
}

// The success of an operation is reported in whichever view is shown.
func TestSuccessIsShownInEachView(t *testing.T) {
	f := withStatus(off("stopped"))
	end := held(f)
	m := on(f)
	press(m, "s", "esc")
	end <- nil
	settle(t, m)
	if s := screen(m); !strings.Contains(s, "main is running") {
		t.Error(s)
	}
}

// The end of a long operation is announced to a terminal without the focus. The end of a short one is not announced.
func TestLongOperationsAreAnnounced(t *testing.T) {
	for _, c := range []struct {
		took    time.Duration
		blurred bool
		want    bool
	}{{time.Minute, true, true}, {time.Second, true, false}, {time.Minute, false, false}} {
		m := on(noBox())
		creating(9, nil)(m)
		m.op.begun, m.poll.blurred = noon.Add(-c.took), c.blurred
		announced := false
		msgs, _ := m.progressed(batch[ops.Event]{from: m.op.feed, ended: true})().(tea.BatchMsg)
		for _, cmd := range msgs {
			if cmd == nil {
				continue
			}
			if r, ok := cmd().(tea.RawMsg); ok {
				announced = strings.Contains(fmt.Sprint(r.Msg), "\a") && strings.Contains(fmt.Sprint(r.Msg), "main is ready")
			}
		}
		if announced != c.want {
			t.Errorf("%+v: announced %v", c, announced)
		}
	}
}

// An error that was still on the screen is printed at exit.
func TestUnreadErrorIsPrinted(t *testing.T) {
	m := on(noBox())
	creating(9, fault.New(fault.HealthFailed, "smoke failed").Hint("look at the log"))(m)
	m.lastFailure = &failure{err: m.op.err}
	var out strings.Builder
	m.reportUnread(&out)
	if out.String() != "hermes-box: smoke failed\nhint: look at the log\n" {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	press(m, "enter")
	if m.reportUnread(&out); out.String() != "" {
		t.Errorf("an error that was closed is printed again: %q", out.String())
	}
}
