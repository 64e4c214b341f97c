package widget

import (
	"slices"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		w    int
		want []string
	}{
		{"then: hermes-box --demo start", 24, []string{"then: hermes-box --demo", "start"}},
		{"stop --force && hermes-box start", 22, []string{"stop --force &&", "hermes-box start"}},
		{"a-word-longer-than-a-line", 10, []string{"a-word-lon", "ger-than-a", "-line"}},
		{"one\n\ntwo", 10, []string{"one", "", "two"}},
		{"none", 0, nil},
	} {
		got := Wrap(c.text, c.w)
		if !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.w, got, c.want)
		}
		for _, line := range got {
			if ansi.StringWidth(line) > c.w {
				t.Errorf("%q is wider than %d", line, c.w)
			}
		}
	}
}
