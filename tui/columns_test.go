package tui

import (
	"strings"
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
)

// A phase that has no column of its own is drawn in none, at every width.
func TestPhaseWithoutAColumn(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		m := testModel(withStatus(running()), w, 24)
		m.op, m.view = &operation{verb: verbs()[1], begun: noon, feed: newFeed(mergeEvents)}, onOperation
		m.op.apply(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "services", Title: "start the services"}}})
		m.op.apply(ops.Event{Kind: ops.Phase, Step: "services", Component: "hermes", Phase: "unpack", State: protocol.Started})
		if s := screen(m); strings.Contains(s, "software") {
			t.Error(s)
		}
	}
}
