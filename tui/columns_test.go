package tui

import (
	"strings"
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
)

// A phase without a column is not drawn, at any width.
func TestPhaseWithoutAColumn(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		m := testModel(withStatus(runningStatus()), w, 24)
		m.op, m.view = &operation{verb: verbs()[1], begun: noon, feed: newFeed(mergeEvents)}, onOperation
		m.op.apply(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "services", Title: "start the services"}}})
		m.op.apply(ops.Event{Kind: ops.Phase, Step: "services", Component: "hermes", Phase: "unpack", State: protocol.Started})
		if s := screen(m); strings.Contains(s, "software") {
			t.Error(s)
		}
	}
}

// A step fills the column of its Phase, whatever its ID is. A plan that installs software shows all columns.
func TestGridFollowsStepInfo(t *testing.T) {
	o := &operation{}
	o.apply(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{
		{ID: "download", Title: "download", Phase: ops.PhaseVerify}, {ID: "fetch", Title: "fetch"}, {ID: "replace", Title: "replace", Software: true}}})
	o.apply(ops.Event{Kind: ops.Done, Step: "download"})
	o.apply(ops.Event{Kind: ops.Started, Step: "fetch"})
	if got := o.grid["node"][ops.PhaseVerify]; got != protocol.Done {
		t.Errorf("verify: %q", got)
	}
	if got := o.columns(); len(got) != len(phases) {
		t.Errorf("columns %v", got)
	}
}
