package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/ops/lock"
	"hermes-box/tui/widget"
)

// operationView draws the plan, the grid, and below them the outcome or the log: exactly h lines of w cells.
func (m *model) operationView(w, h int) []string {
	o := m.op
	if o == nil {
		return m.theme.Ruled(m.theme.Title.Render("no operation"), w, h, nil)
	}
	end := m.outcomeLines(w, h)
	switch {
	case o.showLog:
		room := max(1, h-len(end)-2)
		o.back = max(0, min(o.back, len(o.log)-room))
		return append(m.theme.Panel(m.planTitle(), w, h-len(end), widget.LastWrapped(o.log[:len(o.log)-o.back], room, w-4)), end...)
	case w >= 110 && o.grid != nil && len(o.columns()) > 0:
		return m.wideOperation(w, h, end)
	}
	grid := m.gridLines(w)
	room := h - len(end) - len(grid) - 1
	if room < 4 {
		grid, room = nil, h-len(end)-1
	}
	out := m.theme.Ruled(m.planTitle(), w, 1+min(room, len(o.steps)), m.stepLines(w, min(room, len(o.steps))))
	out = append(out, grid...)
	if len(out) < h-len(end) && len(o.warnings) > 0 {
		out = append(out, widget.Fit(m.theme.Warn.Render("! "+o.warnings[len(o.warnings)-1]), w))
	}
	if rest := h - len(end) - len(out); rest > 3 {
		out = append(out, m.theme.Ruled(m.theme.Title.Render("log"), w, rest, widget.Last(o.log, rest-1))...)
	}
	for len(out) < h-len(end) {
		out = append(out, "")
	}
	return append(out, end...)
}

// wideOperation has the grid beside the plan and the log below.
func (m *model) wideOperation(w, h int, end []string) []string {
	o := m.op
	const gridW = 64
	top := min(max(len(o.steps), len(lock.Order)+1)+2, h-len(end))
	side := m.gridLines(gridW - 4)
	side = side[min(1, len(side)):] // its heading is that of the panel
	if len(o.warnings) > 0 {
		side = append(side, "")
		for _, warning := range o.warnings {
			for _, line := range widget.Wrap("! "+warning, gridW-4) {
				side = append(side, m.theme.Warn.Render(line))
			}
		}
	}
	out := widget.Beside(m.theme.Panel(m.planTitle(), w-gridW, top, m.stepLines(w-gridW-4, top-2)),
		m.theme.Panel(m.theme.Title.Render("software")+"   "+m.phaseHead(), gridW, top, side))
	rest := h - len(end) - len(out)
	out = append(out, m.theme.Panel(m.theme.Title.Render("log"), w, rest, widget.Last(o.log, rest-2))...)
	return append(out, end...)
}

func (m *model) planTitle() string {
	o := m.op
	done, all := o.at()
	title := m.theme.Title.Render(o.verb.id)
	switch {
	case o.ended && o.err == nil:
		return title + m.theme.Good.Render(" done in "+widget.Elapsed(o.took))
	case o.wasCanceled():
		return title + m.theme.Warn.Render(" canceled after "+widget.Elapsed(o.took))
	case o.ended:
		return title + m.theme.Bad.Render(" failed after "+widget.Elapsed(o.took))
	case o.canceled:
		return title + m.theme.Warn.Render(" undoing")
	}
	took := widget.SoFar(m.now().Sub(o.begun))
	by := ""
	if o.watched {
		by = " · by another hermes-box"
	}
	if all == 0 {
		return title + m.theme.Dim.Render(" begins"+by)
	}
	return title + m.theme.Dim.Render(fmt.Sprintf(" %d of %d · %s%s", done, all, took, by))
}

// stepLines are the steps of the plan in h lines. Where they are more, those that are done become one line.
func (m *model) stepLines(w, h int) []string {
	o := m.op
	hide := 0
	if extra := len(o.steps) - h; extra > 0 {
		hide = extra + 1
	}
	var out []string
	hidden := 0
	for i := range o.steps {
		if s := &o.steps[i]; hide > 0 && s.state == stepDone {
			hide--
			hidden++
			continue
		}
		out = append(out, m.stepLine(&o.steps[i], w))
	}
	if hidden > 0 {
		out = append([]string{m.theme.Good.Render("✓") + m.theme.Dim.Render(fmt.Sprintf(" %d steps done", hidden))}, out...)
	}
	return out[:max(0, min(h, len(out)))]
}

// titleWidth is the column of the titles: as wide as the longest, but it leaves room for how far a step is.
func (o *operation) titleWidth(w int) int {
	longest := 0
	for _, s := range o.steps {
		longest = max(longest, ansi.StringWidth(s.Title))
	}
	return max(0, min(longest+2, w-2-16))
}

func (m *model) stepLine(s *step, w int) string {
	t, titleW := m.theme, m.op.titleWidth(w)
	var mark, tail string
	title := s.Title
	switch s.state {
	case stepPending:
		mark, title = t.Dim.Render("·"), t.Dim.Render(title)
	case stepRunning:
		mark, title = t.Info.Render("▸"), t.Title.Render(title)
		tail = m.stepProgress(s, w-titleW-2)
	case stepDone:
		mark, tail = t.Good.Render("✓"), t.Dim.Render(widget.Elapsed(s.took))
	case stepFailed:
		mark, tail = t.Bad.Render("✗"), t.Bad.Render("failed")+t.Dim.Render(" after "+widget.Elapsed(s.took))
		if s.detail != "" {
			tail = t.Bad.Render("failed") + t.Dim.Render(" at "+s.detail)
		}
		if ansi.StringWidth(tail) > w-titleW-2 {
			tail = t.Bad.Render(or(s.detail, "failed"))
		}
	case stepStuck:
		mark, tail = t.Bad.Render("✗"), t.Bad.Render(s.detail)
	case stepCanceled:
		mark, tail = t.Warn.Render("–"), t.Warn.Render("canceled")+t.Dim.Render(" after "+widget.Elapsed(s.took))
	case stepUndoing:
		mark, tail = t.Warn.Render("↩"), t.Warn.Render("being undone")
	case stepUndone:
		mark, tail = t.Warn.Render("↩"), t.Dim.Render("undone")
	}
	return widget.Fit(mark+" "+widget.Fit(title, titleW)+tail, w)
}

// stepProgress tells how far a running step is: bytes where they move, else what it is at.
func (m *model) stepProgress(s *step, w int) string {
	took := widget.SoFar(m.now().Sub(s.begun))
	if s.total <= 0 || s.done >= s.total {
		if text := s.detail + " · " + took; s.detail != "" && ansi.StringWidth(text) <= w {
			return m.theme.Dim.Render(text)
		} else if s.detail != "" {
			return m.theme.Dim.Render(someOf(s.detail, w)) // half a number says nothing
		}
		return m.theme.Dim.Render(took)
	}
	done, total := widget.Size(s.done), widget.Size(s.total)
	if n, unit, _ := strings.Cut(done, " "); strings.HasSuffix(total, unit) {
		done = n
	}
	text := done + " of " + total
	if ansi.StringWidth(text+" · "+s.timeLeft()) > w {
		text = fmt.Sprintf("%d %%", 100*s.done/s.total)
	}
	for _, more := range []string{s.timeLeft(), widget.Size(int64(s.rate)) + "/s"} { // the most useful that fits
		if longer := text + " · " + more; s.rate > 0 && more != "" && ansi.StringWidth(longer) <= w {
			text = longer
		}
	}
	if free := w - ansi.StringWidth(text) - 1; free >= 6 {
		return m.theme.Gauge(s.done, s.total, min(free, 16), m.theme.Info) + " " + m.theme.Dim.Render(text)
	}
	return m.theme.Dim.Render(widget.Fit(text, max(0, w)))
}

// someOf is as many parts of a list as fit into w cells, and how many more there are.
func someOf(list string, w int) string {
	parts := strings.Split(list, ", ")
	for n := len(parts); n > 0; n-- {
		text := strings.Join(parts[:n], ", ")
		if more := len(parts) - n; more > 0 {
			text += fmt.Sprintf(" +%d", more)
		}
		if ansi.StringWidth(text) <= w {
			return text
		}
	}
	return list
}

// phaseWidth is that of a column of the grid.
func phaseWidth(phase string) int { return max(len(phase)+2, 7) }

func (m *model) phaseHead() string {
	var head strings.Builder
	for _, p := range m.op.columns() {
		head.WriteString(widget.Fit(p, phaseWidth(p)))
	}
	return m.theme.Dim.Render(strings.TrimRight(head.String(), " "))
}

// gridLines is the table of components and phases under its heading; none where nothing is installed.
func (m *model) gridLines(w int) []string {
	columns := m.op.columns()
	if m.op.grid == nil || len(columns) == 0 {
		return nil
	}
	const nameW = 11
	out := []string{widget.Fit(m.theme.Title.Render(widget.Fit("software", nameW))+m.phaseHead(), w)}
	for _, name := range lock.Order {
		line := widget.Fit("  "+name, nameW)
		if state := m.op.grid[name][columns[0]]; len(columns) == 1 && state != "" { // there is room for words
			out = append(out, widget.Fit(line+stateSign(m.theme, state), w))
			continue
		}
		for _, phase := range columns {
			line += widget.Fit(m.cell(m.op.grid[name][phase]), phaseWidth(phase))
		}
		out = append(out, widget.Fit(line, w))
	}
	return out
}

// cell is one square of the grid.
func (m *model) cell(state string) string {
	t := m.theme
	switch state {
	case "":
		return t.Dim.Render("  ·")
	case protocol.Done, protocol.Healthy:
		return t.Good.Render("  ✓")
	case protocol.SetupRequired:
		return t.Warn.Render("  ◦")
	case protocol.Skipped:
		return t.Dim.Render("  –")
	case protocol.Failed:
		return t.Bad.Render("  ✗")
	case protocol.Undone:
		return t.Warn.Render("  ↩")
	}
	return t.Info.Render("  ▸")
}

// outcomeLines tell how it ended, until the person has read it: at most h lines.
func (m *model) outcomeLines(w, h int) []string {
	o := m.op
	if !o.ended {
		return nil
	}
	t := m.theme
	good, line := o.outcome()
	if good {
		return []string{widget.Fit(t.Good.Render("✓ ")+t.Title.Render(line)+t.Dim.Render("   "+o.verb.next), w)}
	}
	var out []string
	glyph := t.Bad.Render("✗ ")
	if o.wasCanceled() {
		glyph = t.Warn.Render("– ")
	}
	for i, l := range widget.Wrap(line, w-2) {
		mark := "  "
		if i == 0 {
			mark = glyph
		}
		out = append(out, widget.Fit(mark+l, w))
	}
	if o.wasCanceled() {
		return out[:min(h, len(out))]
	}
	for _, l := range m.hint(o.err, w-2) {
		out = append(out, widget.Fit("  "+l, w))
	}
	if o.output != "" {
		said := widget.Last(strings.Split(o.output, "\n"), min(6, h-len(out)-2))
		for i, l := range said {
			said[i] = widget.Fit(t.Dim.Render("  "+l), w)
		}
		out = append(said, out...)
	}
	return out[:min(h, len(out))]
}
