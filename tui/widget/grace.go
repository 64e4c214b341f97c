package widget

import "time"

// Keys that were typed before something opened by itself do not answer it: keys are ignored until there is this pause
// between them, but not for longer than quietLimit.
const (
	Pause      = 400 * time.Millisecond
	quietLimit = 1500 * time.Millisecond
)

// Grace is the time after something has opened by itself in which keys are ignored. The zero value ignores none.
type Grace struct{ opened, lastKey time.Time }

// NewGrace returns a Grace that begins now.
func NewGrace(now time.Time) Grace { return Grace{now, now} }

// Ignores reports whether to ignore a key pressed now, because it was meant for the earlier screen.
func (g *Grace) Ignores(now time.Time) bool {
	if g.opened.IsZero() || now.Sub(g.opened) > quietLimit {
		return false
	}
	early := now.Sub(g.lastKey) < Pause
	g.lastKey = now
	return early
}
