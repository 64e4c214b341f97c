package cli

import (
	"testing"
	"time"

	"hermes-box/internal/ttytest"
)

// Each question says how it is left, on the list and on a card.
func TestFormSaysHowItIsLeft(t *testing.T) {
	t.Parallel()
	term := ttytest.Start(t, newInhabited(t).cmd("", "login"), 80, 24, "ACCESSIBLE=")
	term.Shows("esc back")
	term.Type(enter, "Run it here", "esc back")
	term.Type(esc, "0 of 6 done")
	term.Type(esc)
	if status := term.Ends(10 * time.Second); status != 0 {
		t.Errorf("status %d", status)
	}
}
