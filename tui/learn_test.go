package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// The dashboard asks for the status of a box as soon as another command has created it, and drops the older answer.
func TestNewBoxIsAsked(t *testing.T) {
	f := noBox()
	m := on(f)
	m.answered(statusMsg{status: &ops.Status{Box: "main", State: "absent"}, asked: noon, at: noon})
	f.known.Exists, f.known.Ready = true, true
	f.known.Status = off("running")
	drain(m, m.update(knownMsg{f.known}))
	if got := screen(m); !f.did("status") || !strings.Contains(got, "running") {
		t.Errorf("asked: %v\n%s", f.asked, got)
	}
	drain(m, tea.Batch(m.readFiles(), m.ask()))
	if strings.Contains(screen(m), "not made yet") {
		t.Error(screen(m))
	}
}
