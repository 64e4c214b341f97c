package widget

import "time"

// Keys typed while something opens by itself are not answers to it: keys are ignored until this pause, but not
// for longer than quietLimit.
const (
	Pause      = 400 * time.Millisecond
	quietLimit = 1500 * time.Millisecond
)

// Grace is the time after something has opened by itself in which keys are ignored. The zero value ignores none.
type Grace struct{ opened, lastKey time.Time }

// NewGrace begins at now.
func NewGrace(now time.Time) Grace { return Grace{now, now} }

// Ignores tells whether a key pressed now was meant for what was on the screen before.
func (g *Grace) Ignores(now time.Time) bool {
	if g.opened.IsZero() || now.Sub(g.opened) > quietLimit {
		return false
	}
	early := now.Sub(g.lastKey) < Pause
	g.lastKey = now
	return early
}
