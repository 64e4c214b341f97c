package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/internal/sanitize"
)

// Flat puts a text on one line.
func Flat(s string) string { return lineEnds.Replace(s) }

var lineEnds = strings.NewReplacer("\n", " ", "\t", " ")

// Fit cuts or pads a text to exactly w cells, on one line.
func Fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s = Flat(s)
	have := ansi.StringWidth(s)
	if have > w {
		s = ansi.Truncate(s, w, "…")
		have = ansi.StringWidth(s)
	}
	return s + strings.Repeat(" ", max(0, w-have))
}

// Right is Fit with the text aligned right. The text must be one line.
func Right(s string, w int) string {
	if have := ansi.StringWidth(s); have < w {
		return strings.Repeat(" ", w-have) + s
	}
	return Fit(s, w)
}

// Clean removes control sequences from a text. Line ends stay.
func Clean(s string) string {
	return sanitize.Text(strings.ReplaceAll(s, "\t", "    "))
}

// Wrap breaks a text into lines of at most w cells, between words. A command is not broken at its hyphens.
func Wrap(s string, w int) []string {
	if w < 1 {
		return nil
	}
	const hyphen, unbroken = "-", "\u2011"
	lines := ansi.Wrap(strings.ReplaceAll(s, hyphen, unbroken), w, "")
	return strings.Split(strings.ReplaceAll(lines, unbroken, hyphen), "\n")
}

// Spread puts texts at the left and at the right of a line of w cells. It leaves out texts that do not fit, beginning
// with the last one at the left.
func Spread(w int, left, rights []string) string {
	const gap = "   "
	for {
		l, r := strings.Join(left, gap), strings.Join(rights, gap)
		free := w - ansi.StringWidth(l) - ansi.StringWidth(r)
		switch {
		case r == "" && free >= 0 || free >= len(gap):
			return l + strings.Repeat(" ", max(0, free)) + r
		case len(left) > 2:
			left = left[:len(left)-1]
		case len(rights) > 0:
			rights = rights[:len(rights)-1]
		case len(left) > 1:
			left = left[:len(left)-1]
		default:
			return Fit(l, w)
		}
	}
}

// FirstLine returns a text up to its first line end.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// Last returns the last n lines.
func Last(lines []string, n int) []string {
	return lines[max(0, len(lines)-max(0, n)):]
}

// LastWrapped returns the last n lines of a text that is wrapped at w cells.
func LastWrapped(lines []string, n, w int) (out []string) {
	for i := len(lines) - 1; i >= 0 && len(out) < n; i-- {
		out = append(strings.Split(ansi.Hardwrap(lines[i], max(1, w), true), "\n"), out...)
	}
	return Last(out, n)
}
