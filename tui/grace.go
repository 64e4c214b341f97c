package tui

import "time"

// Keys on their way while something opens by itself are not answers to it: it takes none before this much quiet, but
// it does not stay deaf for longer than quietLimit.
const (
	quiet      = 400 * time.Millisecond
	quietLimit = 1500 * time.Millisecond
)

// grace is the quiet that something which has opened by itself waits for. The zero one waits for none.
type grace struct{ opened, lastKey time.Time }

func newGrace(now time.Time) grace { return grace{now, now} }

// deaf is whether a key pressed now was meant for what was on the screen before.
func (g *grace) deaf(now time.Time) bool {
	if g.opened.IsZero() || now.Sub(g.opened) > quietLimit {
		return false
	}
	early := now.Sub(g.lastKey) < quiet
	g.lastKey = now
	return early
}
