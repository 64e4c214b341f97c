package widget

// List is a selection among rows, and a window of rows to show. It does not hold the rows themselves, which are drawn
// anew each time.
type List struct {
	At  int // the selected row
	Top int // the first row of the window
	h   int // the height of the window
}

// Row returns the row on line y of the window, of n rows; false if that line shows none.
func (l *List) Row(y, n int) (row int, ok bool) {
	row = l.Top + y
	return row, y >= 0 && y < l.h && row < n
}

// Move moves the selection among n rows.
func (l *List) Move(by, n int) { l.At = min(max(l.At+by, 0), max(0, n-1)) }

// Window returns the range of rows to show, of n rows of which h fit. The range includes the selection.
func (l *List) Window(n, h int) (from, to int) {
	l.At = min(max(l.At, 0), max(0, n-1))
	h = max(h, 0)
	l.h = h
	l.Top = min(max(l.Top, l.At-h+1), l.At)
	l.Top = max(0, min(l.Top, n-h))
	return l.Top, min(n, l.Top+h)
}

// Scroll is a window of lines to show, if there may be more than fit.
type Scroll struct{ Top int }

// Move scrolls; Window keeps it inside the lines.
func (s *Scroll) Move(by int) { s.Top = max(0, s.Top+by) }

// Window returns the range of lines to show, of n lines of which h fit.
func (s *Scroll) Window(n, h int) (from, to int) {
	h = max(1, h)
	s.Top = max(0, min(s.Top, n-h))
	return s.Top, min(n, s.Top+h)
}
