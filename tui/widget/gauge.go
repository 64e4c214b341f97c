package widget

import "strings"

// Gauge draws a bar of w cells, of which part/whole are filled, in that ink. A part above zero fills at least half a
// cell.
func (t Theme) Gauge(part, whole int64, w int, filled Ink) string {
	if whole <= 0 || w <= 0 {
		return strings.Repeat(" ", max(0, w))
	}
	part = min(max(part, 0), whole)
	halves := int((float64(part)/float64(whole))*float64(2*w) + 0.5)
	if part > 0 {
		halves = max(halves, 1)
	}
	bar := strings.Repeat("━", halves/2) + strings.Repeat("╾", halves%2)
	return filled.Render(bar) + t.Border.Render(strings.Repeat("─", w-halves/2-halves%2))
}

// Sparkline draws the last w values, which are between 0 and 1.
func Sparkline(values []float64, w int) string {
	ramp := []rune("▁▂▃▄▅▆▇█")
	if len(values) > w {
		values = values[len(values)-max(0, w):]
	}
	line := make([]rune, 0, w)
	for _, v := range values {
		line = append(line, ramp[int(min(max(v, 0), 1)*float64(len(ramp)-1)+0.5)])
	}
	return string(line)
}
