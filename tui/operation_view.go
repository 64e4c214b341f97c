package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/internal/spell"
	"hermes-box/ops/lock"
	"hermes-box/tui/widget"
)

// view draws the plan, the grid, and below them the outcome or the log: exactly h lines of w cells.
func (o *operation) view(p page, w, h int) []string {
	if o == nil {
		return p.Ruled(p.Title.Render("no operation"), w, h, nil)
	}
	columns := o.columns()
	end := o.outcomeLines(p, w, h)
	switch {
	case o.showLog:
		room := max(1, h-len(end)-2)
		o.back = max(0, min(o.back, len(o.log)-room))
		return append(p.Panel(o.title(p), w, h-len(end), widget.LastWrapped(o.log[:len(o.log)-o.back], room, w-4)), end...)
	case w >= 110 && o.grid != nil && len(columns) > 0:
		return o.wide(p, columns, w, h, end)
	}
	grid := o.grid.lines(p, columns, w)
	room := h - len(end) - len(grid) - 1
	if room < 4 {
		grid, room = nil, h-len(end)-1
	}
	out := p.Ruled(o.title(p), w, 1+min(room, len(o.steps)), o.stepLines(p, w, min(room, len(o.steps))))
	out = append(out, grid...)
	if len(out) < h-len(end) && len(o.warnings) > 0 {
		out = append(out, widget.Fit(p.Warn.Render("! "+o.warnings[len(o.warnings)-1]), w))
	}
	if rest := h - len(end) - len(out); rest > 3 {
		out = append(out, p.Ruled(p.Title.Render("log"), w, rest, widget.Last(o.log, rest-1))...)
	}
	for len(out) < h-len(end) {
		out = append(out, "")
	}
	return append(out, end...)
}

// wide draws the grid beside the plan, and the log below them.
func (o *operation) wide(p page, columns []string, w, h int, end []string) []string {
	const gridW = 64
	top := min(max(len(o.steps), len(lock.Order)+1)+2, h-len(end))
	side := o.grid.lines(p, columns, gridW-4)
	side = side[min(1, len(side)):] // without its heading, which is the title of the panel
	if len(o.warnings) > 0 {
		side = append(side, "")
		for _, warning := range o.warnings {
			for _, line := range widget.Wrap("! "+warning, gridW-4) {
				side = append(side, p.Warn.Render(line))
			}
		}
	}
	out := widget.Beside(p.Panel(o.title(p), w-gridW, top, o.stepLines(p, w-gridW-4, top-2)),
		p.Panel(p.Title.Render("software")+"   "+o.grid.head(p, columns), gridW, top, side))
	rest := h - len(end) - len(out)
	out = append(out, p.Panel(p.Title.Render("log"), w, rest, widget.Last(o.log, rest-2))...)
	return append(out, end...)
}

// title returns the heading: the operation and its progress.
func (o *operation) title(p page) string {
	title := p.Title.Render(o.verb.name)
	switch {
	case o.ended && o.err == nil:
		return title + p.Good.Render(" done in "+widget.Elapsed(o.took))
	case o.wasCanceled():
		return title + p.Warn.Render(" canceled after "+widget.Elapsed(o.took))
	case o.ended:
		return title + p.Bad.Render(" failed after "+widget.Elapsed(o.took))
	case o.canceled:
		return title + p.Warn.Render(" undoing")
	}
	by := ""
	if o.watched {
		by = " · by another hermes-box"
	}
	done, all := o.progress()
	if all == 0 {
		return title + p.Dim.Render(" begins"+by)
	}
	return title + p.Dim.Render(fmt.Sprintf(" %d of %d · %s%s", done, all, widget.SoFar(p.now.Sub(o.begun)), by))
}

// stepLines draws the steps of the plan in at most h lines. If there are more steps, those that are done share one
// line.
func (o *operation) stepLines(p page, w, h int) []string {
	titleW := o.titleWidth(w)
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
		out = append(out, o.steps[i].line(p, w, titleW))
	}
	if hidden > 0 {
		out = append([]string{p.Good.Render("✓") + p.Dim.Render(" "+spell.Count(hidden, "step")+" done")}, out...)
	}
	return out[:max(0, min(h, len(out)))]
}

// titleWidth returns the width of the column of titles: that of the longest title, or less if the progress needs the
// room.
func (o *operation) titleWidth(w int) int {
	longest := 0
	for _, s := range o.steps {
		longest = max(longest, ansi.StringWidth(s.Title))
	}
	return max(0, min(longest+2, w-2-16))
}

// outcome returns the line that reports the end of the operation.
func (o *operation) outcome() (good bool, line string) {
	if o.err == nil {
		return true, o.verb.doneText(o.box)
	}
	switch undone := slices.ContainsFunc(o.steps, func(s step) bool { return s.state == stepUndone }); {
	case o.wasCanceled() && undone:
		return false, o.verb.name + " was canceled; what it had done is undone"
	case o.wasCanceled():
		return false, o.verb.name + " was canceled"
	}
	return false, widget.Clean(o.err.Error())
}

// outcomeLines draws the outcome, what to do next, and the end of the output of the failed command: at most h lines.
func (o *operation) outcomeLines(p page, w, h int) []string {
	if !o.ended {
		return nil
	}
	good, line := o.outcome()
	if good {
		var out []string
		for i, l := range widget.Wrap(widget.Clean(line), w-2) {
			mark := "  "
			if i == 0 {
				mark = p.Good.Render("✓ ")
			}
			out = append(out, mark+p.Title.Render(l))
		}
		last := len(out) - 1
		out[last] = widget.Fit(out[last]+o.verb.next(p), w)
		for _, more := range resultLines(p, o.result, w-2) {
			out = append(out, widget.Fit("  "+more, w))
		}
		return out[:min(max(1, h), len(out))]
	}
	var out []string
	glyph := p.Bad.Render("✗ ")
	if o.wasCanceled() {
		glyph = p.Warn.Render("– ")
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
	for _, l := range p.hint(o.err, w-2) {
		out = append(out, widget.Fit("  "+l, w))
	}
	if o.output != "" {
		last := widget.Last(strings.Split(o.output, "\n"), min(6, h-len(out)-2))
		for i, l := range last {
			last[i] = widget.Fit(p.Dim.Render("  "+l), w)
		}
		out = append(last, out...)
	}
	return out[:min(h, len(out))]
}
