package tui

import (
	"strings"
	"time"

	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// page holds the theme and the time that views draw with.
type page struct {
	widget.Theme
	now   time.Time
	typed func(string) string // rewrites the commands in a text so that they can be pasted here
}

// state draws the state of a box or of a component.
func (p page) state(word string) string { return p.Sign(SignOf(word)) }

// verdict draws the outcome of a check.
func (p page) verdict(v ops.Verdict) string { return p.Sign(SignOfVerdict(v)) }

// hint returns the hint of an error in lines of w cells; nil if it has none.
func (p page) hint(err error, w int) []string {
	hint := p.typed(widget.Clean(fault.HintOf(err)))
	if hint == "" {
		return nil
	}
	out := widget.Wrap("hint: "+hint, w)
	out[0] = p.Warn.Render("hint:") + strings.TrimPrefix(out[0], "hint:")
	return out
}

// scrolled draws a panel of lines that can be scrolled if they do not fit.
func (p page) scrolled(s *widget.Scroll, title string, w, h int, lines []string) []string {
	from, to := s.Window(len(lines), h-2)
	if len(lines) > to-from {
		title += p.Dim.Render("  " + fromTo(from, to, len(lines)))
	}
	return p.Focused().Panel(title, w, h, lines[from:to])
}
