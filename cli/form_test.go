package cli

import (
	"testing"
	"time"

	"hermes-box/internal/ttytest"
)

// In login, the list of the steps and the form of a single step show the key that closes them.
func TestFormShowsTheKeyThatClosesIt(t *testing.T) {
	t.Parallel()
	term := ttytest.Start(t, newDemoBox(t).cmd("", "login"), 80, 24, "ACCESSIBLE=")
	term.Shows("esc back")
	term.Type(enter, "Run it here", "esc back")
	term.Type(esc, "0 of 6 done")
	term.Type(esc)
	if status := term.Ends(10 * time.Second); status != 0 {
		t.Errorf("status %d", status)
	}
}
