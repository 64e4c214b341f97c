package tui

// list is a selection among rows and a window on them. It holds no rows: they are drawn anew each time, and the
// selection stays where it was.
type list struct {
	at, top int
}

// move selects another row of n.
func (l *list) move(by, n int) { l.at = min(max(l.at+by, 0), max(0, n-1)) }

// window is the first row to show of n where h fit, and one past the last, so that the selected one is among them.
func (l *list) window(n, h int) (from, to int) {
	l.at = min(max(l.at, 0), max(0, n-1))
	h = max(h, 0)
	l.top = min(max(l.top, l.at-h+1), l.at)
	l.top = max(0, min(l.top, n-h))
	return l.top, min(n, l.top+h)
}
