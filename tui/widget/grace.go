package widget

import "time"

// Keys that were typed before a dialog or a view opened by itself must not act on it. So keys are ignored until there
// is a Pause between two of them, but not for longer than quietLimit.
const (
	Pause      = 400 * time.Millisecond
	quietLimit = 1500 * time.Millisecond
)

// Grace is the time in which keys are ignored, after a dialog or a view has opened by itself. The zero value ignores no
// key.
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
	if !early {
		*g = Grace{}
	}
	return early
}
