package ops

import (
	"slices"
	"strings"

	"hermes-box/guest/protocol"
)

// Phases keeps what a step is doing, from its Phase events. Several components may be in work at once, so the last event alone
// does not tell. The zero value is ready to use.
type Phases struct {
	whole string   // of the guest, and no component
	open  []string // begun and not ended well, the oldest first
	fails string   // the first that has failed: what else was under way is stopped by it
}

// Follow takes in one Phase event.
func (p *Phases) Follow(e Event) {
	if e.Component == "" {
		p.whole = e.Phase
		return
	}
	p.whole = ""
	what := e.Component + " " + e.Phase
	switch e.State {
	case protocol.Undone: // what fails stays where it has failed
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

// String is "codex smoke, hermes stage"; empty while nothing is under way.
func (p *Phases) String() string {
	if p.fails != "" {
		return p.fails
	}
	if p.whole != "" {
		return p.whole
	}
	return strings.Join(p.open, ", ")
}
