package tui

import (
	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// SignOf returns the sign of a state of a box or of a component. A state without a sign of its own is shown by its
// name.
func SignOf(state string) widget.Sign {
	switch state {
	case string(limactl.Running):
		return sign("●", "running", widget.Good)
	case protocol.Healthy:
		return sign("✓", "healthy", widget.Good)
	case protocol.SetupRequired:
		return sign("◦", "login needed", widget.Warn)
	case "drifted":
		return sign("↑", "drifted", widget.Warn)
	case protocol.Starting:
		return sign("◌", "starting", widget.AtWork)
	case stopping:
		return sign("◌", "stopping", widget.AtWork)
	case string(limactl.Degraded), protocol.FailedState:
		return sign("✗", state, widget.Bad)
	case string(limactl.Absent):
		return sign("○", "not made yet", widget.Quiet)
	}
	return sign("○", state, widget.Quiet) // stopped, unknown
}

// stopping is the state of a box while an operation stops or removes it.
const stopping = "stopping"

// SignOfVerdict returns the sign of the result of a check.
func SignOfVerdict(v ops.Verdict) widget.Sign {
	switch v {
	case ops.Pass:
		return sign("✓", "pass", widget.Good)
	case ops.Warn:
		return sign("!", "warn", widget.Warn)
	case ops.Fail:
		return sign("✗", "fail", widget.Bad)
	}
	return sign("?", "unknown", widget.Warn)
}

func sign(glyph, word string, tone widget.Tone) widget.Sign {
	return widget.Sign{Glyph: glyph, Word: word, Tone: tone}
}
