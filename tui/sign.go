package tui

import (
	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops"
)

// Tone is what something means to a person; it picks the colour.
type Tone int

// The tones.
const (
	Quiet Tone = iota
	Good
	AtWork
	Warn
	Bad
)

// Sign is how a state is shown wherever a person reads, on the dashboard and by the verbs. Glyph and word say the same,
// so that the colour is not needed.
type Sign struct {
	Glyph, Word string
	Tone        Tone
}

func (s Sign) String() string { return s.Glyph + " " + s.Word }

// SignOf is the sign of a state of a box or of a component. One that is not known is shown as it is called.
func SignOf(state string) Sign {
	switch state {
	case string(limactl.Running):
		return Sign{"●", "running", Good}
	case protocol.Healthy:
		return Sign{"✓", "healthy", Good}
	case protocol.SetupRequired:
		return Sign{"◦", "login needed", Warn}
	case "drifted":
		return Sign{"↑", "drifted", Warn}
	case protocol.Starting:
		return Sign{"◌", "starting", AtWork}
	case string(limactl.Degraded), protocol.FailedState:
		return Sign{"✗", state, Bad}
	case string(limactl.Absent):
		return Sign{"○", "not made yet", Quiet}
	}
	return Sign{"○", state, Quiet} // stopped, unknown
}

// SignOfVerdict is the sign of what a check has found.
func SignOfVerdict(v ops.Verdict) Sign {
	switch v {
	case ops.Pass:
		return Sign{"✓", "pass", Good}
	case ops.Warn:
		return Sign{"!", "warn", Warn}
	case ops.Fail:
		return Sign{"✗", "fail", Bad}
	}
	return Sign{"?", "unknown", Warn}
}
