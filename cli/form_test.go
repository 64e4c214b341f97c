package cli

import (
	"testing"
	"time"

	"hermes-box/tui/ttytest"
)

// Each question says how it is left, on the list and on a card.
func TestFormSaysHowItIsLeft(t *testing.T) {
	t.Parallel()
	c := newInhabited(t).cmd("", "login")
	c.Env = append(append(c.Env, ttytest.Env...), "ACCESSIBLE=")
	term := ttytest.Start(t, c, 80, 24)
	term.Shows("choose • esc back")
	term.Type("\r")
	term.Shows("Run it here")
	term.Shows("choose • esc back")
	term.Type("\x1b")
	term.Shows("Look again")
	term.Type("\x1b")
	if status := term.Ends(10 * time.Second); status != 0 {
		t.Errorf("status %d", status)
	}
}
