package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/dustin/go-humanize"

	"hermes-box/guest/protocol"
	"hermes-box/internal/sanitize"
)

// flat puts a text on one line.
func flat(s string) string { return lineEnds.Replace(s) }

var lineEnds = strings.NewReplacer("\n", " ", "\t", " ")

// fit makes a text exactly w cells wide, on one line.
func fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s = flat(s)
	have := ansi.StringWidth(s)
	if have > w {
		s = ansi.Truncate(s, w, "…")
		have = ansi.StringWidth(s)
	}
	return s + strings.Repeat(" ", max(0, w-have))
}

// right is fit, with the text at the right.
func right(s string, w int) string {
	if have := ansi.StringWidth(s); have < w {
		return strings.Repeat(" ", w-have) + s
	}
	return fit(s, w)
}

// clean takes out of a text from elsewhere whatever a terminal would act on. Line ends stay.
func clean(s string) string {
	return sanitize.Text(strings.ReplaceAll(s, "\t", "    "))
}

// wrapped breaks a text into lines of at most w cells, between words: what is to be typed is not torn at its hyphens.
func wrapped(s string, w int) []string {
	if w < 1 {
		return nil
	}
	const hyphen, unbroken = "-", "\u2011"
	lines := ansi.Wrap(strings.ReplaceAll(s, hyphen, unbroken), w, "")
	return strings.Split(strings.ReplaceAll(lines, unbroken, hyphen), "\n")
}

// spread puts texts at the left and at the right of a line of w cells; what has no room is left out, the last of the
// left first.
func spread(w int, left, rights []string) string {
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
			return fit(l, w)
		}
	}
}

// panel frames lines under a title: exactly h lines of w cells. Where it is too low for a frame it has a rule alone.
func (t theme) panel(title string, w, h int, lines []string) []string {
	if h <= 0 || w <= 0 {
		return nil
	}
	if w < 8 || h < 3 {
		return t.ruled(title, w, h, lines)
	}
	head := ansi.Truncate(title, w-6, "…")
	out := []string{t.border.Render("┌ ") + head + t.border.Render(" "+strings.Repeat("─", w-4-ansi.StringWidth(head))+"┐")}
	bar := t.border.Render("│")
	for i := range h - 2 {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		out = append(out, bar+" "+fit(line, w-4)+" "+bar)
	}
	return append(out, t.border.Render("└"+strings.Repeat("─", w-2)+"┘"))
}

// ruled is a panel without a frame: one rule with the title, then the lines.
func (t theme) ruled(title string, w, h int, lines []string) []string {
	if h <= 0 || w <= 0 {
		return nil
	}
	head := ansi.Truncate(title, max(0, w-3), "…")
	out := []string{head + t.border.Render(" "+strings.Repeat("─", max(0, w-1-ansi.StringWidth(head))))}
	for i := range h - 1 {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		out = append(out, fit(line, w))
	}
	return out
}

// beside joins two blocks of the same height.
func beside(a, b []string) []string {
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

// gauge is a bar of w cells, filled to part of whole: in that ink what is filled, quietly the rest. Anything at all is
// half a cell.
func (t theme) gauge(part, whole int64, w int, filled ink) string {
	if whole <= 0 || w <= 0 {
		return strings.Repeat(" ", max(0, w))
	}
	part = min(max(part, 0), whole)
	halves := int((float64(part)/float64(whole))*float64(2*w) + 0.5)
	if part > 0 {
		halves = max(halves, 1)
	}
	bar := strings.Repeat("━", halves/2) + strings.Repeat("╾", halves%2)
	return filled.Render(bar) + t.border.Render(strings.Repeat("─", w-halves/2-halves%2))
}

// sparkline draws the last of some parts of one, at most w.
func sparkline(parts []float64, w int) string {
	ramp := []rune("▁▂▃▄▅▆▇█")
	if len(parts) > w {
		parts = parts[len(parts)-max(0, w):]
	}
	line := make([]rune, 0, w)
	for _, p := range parts {
		line = append(line, ramp[int(min(max(p, 0), 1)*float64(len(ramp)-1)+0.5)])
	}
	return string(line)
}

// usage is "3.1/8G".
func usage(u protocol.Usage) string {
	if u.Total <= 0 {
		return "–"
	}
	g := func(n int64) string {
		f := float64(n) / (1 << 30)
		if f >= 9.95 || f == float64(int64(f)) {
			return fmt.Sprintf("%.0f", f)
		}
		return fmt.Sprintf("%.1f", f)
	}
	return g(u.Used) + "/" + g(u.Total) + "G"
}

// size is "340 MiB".
func size(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// count is "1 line", "2 lines".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// age is a duration in its two largest units.
func age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return twoUnits(int(d.Minutes()), 60, "h", "m")
	}
	return twoUnits(int(d.Hours()), 24, "d", "h")
}

func twoUnits(n, per int, large, small string) string {
	if n%per == 0 {
		return fmt.Sprintf("%d%s", n/per, large)
	}
	return fmt.Sprintf("%d%s %d%s", n/per, large, n%per, small)
}

// sofar is elapsed of what is still under way: tenths would be gone before they are read.
func sofar(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	}
	return elapsed(d)
}

// elapsed is how long something took or takes: "12s", "1m42s".
func elapsed(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
