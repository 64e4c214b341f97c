package tui

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// A session that ends with the status of its last command is not a failed attach.
func TestSessionEndIsNoFailure(t *testing.T) {
	m := on(withStatus(runningStatus()))
	err := exec.Command("sh", "-c", "exit 7").Run()
	m.update(detachMsg{err: err, used: true})
	if shows := screen(m); m.failure != nil || !strings.Contains(shows, "the session ended with status 7") {
		t.Errorf("%v\n%s", m.failure, shows)
	}
	m.update(detachMsg{err: err})
	if m.failure == nil {
		t.Error("the error of a session that failed at once is not shown")
	}
}

// While an attach is under way no key starts anything else, and esc cancels it.
func TestAttachIsGivenUp(t *testing.T) {
	f := withStatus(runningStatus())
	f.attach = func(ctx context.Context) (*exec.Cmd, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	m := on(f)
	cmd := press(m, "a")
	got := make(chan tea.Msg)
	go func() { got <- cmd() }()
	press(m, "X", "j")
	if s := screen(m); strings.Contains(s, "Destroy") || !strings.Contains(s, "▸ node") || !strings.Contains(s, "esc gives up") {
		t.Error(s)
	}
	press(m, "esc")
	m.update(<-got)
	if s := screen(m); m.attaching != nil || m.failure != nil || strings.Contains(s, "gives up") {
		t.Error(s)
	}
	f.attach = nil
	drain(m, press(m, "a"))
	if s := screen(m); !strings.Contains(s, "✗ attach failed") || !strings.Contains(s, "nothing to attach to") {
		t.Error(s)
	}
}
