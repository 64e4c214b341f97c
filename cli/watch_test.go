package cli

import "testing"

// A second dashboard shows what the first does, step by step, and how it ends; it can be left without a question.
func TestDashboardWatchesAnother(t *testing.T) {
	m := newMachine(t)
	first := m.creating()
	second := m.dashboard(80, 24)
	second.Shows("another hermes-box: create is under way")
	second.Shows("o operation")
	second.Type("o")
	second.Shows("by another hermes-box")
	second.Shows("▸ boot the VM")
	second.Type("x")
	second.Shows("ctrl-c there cancels it")
	first.Type("x")
	first.Shows("Cancel the create?")
	first.Type("y")
	first.Shows("create canceled after")
	second.Shows("create failed after")
	second.Shows("create was interrupted")
	second.Shows("↩ make the VM")
}
