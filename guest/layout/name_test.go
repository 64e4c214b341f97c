package layout

import (
	"strings"
	"testing"
)

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{"1.2.3": true, "2026.7.20+a_b-c": true, "": false, "..": false, ".hidden": false,
		"-v": false, "a/b": false, "a b": false, "a\x00": false, strings.Repeat("a", 241): false} {
		if ValidName(name) != want {
			t.Errorf("%q", name)
		}
	}
}
