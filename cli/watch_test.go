package cli

import "testing"

// A second dashboard shows the steps of an operation that the first one runs, and how it ends.
func TestDashboardWatchesAnother(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first := m.dashboardInCreate()
	second := m.dashboard("another hermes-box: create is under way")
	second.Shows("o operation")
	second.Type("o", "by another hermes-box", "▸ boot the VM")
	second.Type("x", "ctrl-c there cancels it")
	first.Type("x", "Cancel the create?")
	first.Type("y", "create canceled after")
	second.Shows("create failed after", "create was interrupted", "↩ make the VM")
}
