package ops

import (
	"strings"
	"testing"
)

func TestPhases(t *testing.T) {
	for _, c := range []struct{ events, want string }{
		{"", ""},
		{" extract ", "extract"},
		{"codex smoke started", "codex smoke"},
		{"codex stage started; hermes stage started; codex stage done", "hermes stage"},
		{"codex smoke started; hermes stage started", "codex smoke, hermes stage"},
		{"codex smoke started; codex smoke failed; codex activate undone", "codex smoke"},
		{"hermes stage started; codex smoke started; codex smoke failed; executor stage started", "codex smoke"},
		{"hermes health starting; executor health starting; executor health healthy", "hermes health"},
		{"claude health starting; claude health setup-required", ""},
		{" unpack ;codex stage started", "codex stage"},
	} {
		var p Phases
		for text := range strings.SplitSeq(c.events, ";") {
			if f := strings.Split(strings.TrimPrefix(text, " "), " "); len(f) == 3 {
				p.Follow(Event{Kind: Phase, Component: f[0], Phase: f[1], State: f[2]})
			} else if text = strings.TrimSpace(text); text != "" {
				p.Follow(Event{Kind: Phase, Phase: text})
			}
		}
		if got := p.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.events, got, c.want)
		}
	}
}
