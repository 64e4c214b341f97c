package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Panel draws lines in a frame with a title: exactly h lines of w cells. Without room for a frame it draws a rule.
func (t Theme) Panel(title string, w, h int, lines []string) []string {
	if h <= 0 || w <= 0 {
		return nil
	}
	if w < 8 || h < 3 {
		return t.Ruled(title, w, h, lines)
	}
	head := ansi.Truncate(title, w-6, "…")
	out := []string{t.Border.Render("┌ ") + head + t.Border.Render(" "+strings.Repeat("─", w-4-ansi.StringWidth(head))+"┐")}
	bar := t.Border.Render("│")
	for i := range h - 2 {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		out = append(out, bar+" "+Fit(line, w-4)+" "+bar)
	}
	return append(out, t.Border.Render("└"+strings.Repeat("─", w-2)+"┘"))
}

// Ruled draws a panel without a frame: one rule with the title, then the lines.
func (t Theme) Ruled(title string, w, h int, lines []string) []string {
	if h <= 0 || w <= 0 {
		return nil
	}
	head := ansi.Truncate(title, max(0, w-3), "…")
	out := []string{head + t.Border.Render(" "+strings.Repeat("─", max(0, w-1-ansi.StringWidth(head))))}
	for i := range h - 1 {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		out = append(out, Fit(line, w))
	}
	return out
}

// Beside joins two blocks of the same height.
func Beside(a, b []string) []string {
	out := make([]string, max(len(a), len(b)))
	for i := range out {
		if i < len(a) {
			out[i] = a[i]
		}
		if i < len(b) {
			out[i] += b[i]
		}
	}
	return out
}

// Over draws a panel of w cells in the middle of a frame of screenW cells, and dims the rest of the frame except its
// last line.
func (t Theme) Over(frame []string, screenW int, title string, w int, inside []string) []string {
	h := min(len(inside)+2, len(frame))
	top, left := (len(frame)-h)/2, (screenW-w)/2
	box := t.Focused().Panel(title, w, h, inside)
	left, w = left-1, w+2 // a blank cell at both sides
	const readable = 16   // cells; a shorter part of a line beside the panel is not readable
	for i, line := range frame {
		back := Fit(ansi.Strip(line), screenW)
		if i < top || i >= top+len(box) {
			if i < len(frame)-1 { // the last line shows the effect of a key
				frame[i] = t.Dim.Render(back)
			}
			continue
		}
		if left < readable {
			back = strings.Repeat(" ", screenW)
		}
		frame[i] = t.Dim.Render(ansi.Cut(back, 0, left)) + " " + box[i-top] + " " + t.Dim.Render(ansi.Cut(back, left+w, screenW))
	}
	return frame
}
