package ops

import (
	"slices"
	"strings"

	"hermes-box/guest/protocol"
)

// Phases collects the Phase events of a step and says what the step is doing. Several components may be in progress at
// the same time, so the last event is not enough. The zero value is ready to use.
type Phases struct {
	whole string   // phase of the guest as a whole
	open  []string // phases that have begun and not succeeded, the oldest first
	fails string   // the first phase that has failed, which stops the others
}

// Follow adds a Phase event.
func (p *Phases) Follow(e Event) {
	if e.Component == "" {
		p.whole = e.Phase
		return
	}
	p.whole = ""
	what := e.Component + " " + e.Phase
	switch e.State {
	case protocol.Undone: // the phase that failed stays
	case protocol.Failed:
		if p.fails == "" {
			p.fails = what
		}
	case protocol.Done, protocol.Healthy, protocol.SetupRequired:
		p.open = slices.DeleteFunc(p.open, func(s string) bool { return s == what })
	default:
		if !slices.Contains(p.open, what) {
			p.open = append(p.open, what)
		}
	}
}

// String returns the first phase that has failed or, if none has, the phases under way, for example "codex smoke, hermes
// stage". It is empty if there are none.
func (p *Phases) String() string {
	if p.fails != "" {
		return p.fails
	}
	if p.whole != "" {
		return p.whole
	}
	return strings.Join(p.open, ", ")
}
