package tui

import (
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// No two states look alike without colour, and each has a glyph, a word and an ASCII substitute.
func TestSigns(t *testing.T) {
	seen := map[string]string{}
	for _, state := range []string{"absent", "stopped", "starting", "running", "degraded", "unknown", protocol.Healthy, protocol.SetupRequired, "drifted", protocol.FailedState} {
		s := SignOf(state)
		if s.Glyph == "" || s.Word == "" || widget.ToASCII(s.Glyph) == "?" && s.Glyph != "?" {
			t.Errorf("%s is shown as %q, or has no ASCII substitute", state, s)
		}
		if other := seen[s.String()]; other != "" {
			t.Errorf("%s and %s are both shown as %q", state, other, s)
		}
		seen[s.String()] = state
	}
	for _, v := range []ops.Verdict{ops.Pass, ops.Warn, ops.Fail, ops.Unknown} {
		if s := SignOfVerdict(v); s.Glyph == "" || s.Word != string(v) {
			t.Errorf("%s is shown as %q", v, s)
		}
	}
}
