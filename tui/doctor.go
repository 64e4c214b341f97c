package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// doctor is the view of all checks.
type doctor struct{ checks checks }

// openDoctor runs the checks, unless they are running already.
func (m *model) openDoctor() tea.Cmd {
	m.show(onDoctor)
	if m.doctor.checks.working() {
		return nil
	}
	return m.doctor.checks.begin(m.worker)
}

// view lists the checks, and below them all that is known about the selected one: exactly h lines of w cells.
func (d *doctor) view(p page, w, h int) []string {
	c := &d.checks
	title := p.Title.Render("doctor") + c.title(p)
	about := d.about(p, w-4)
	below := min(max(len(about)+2, 6), h/2) // a minimum, so that the height seldom changes with the selection
	top := h - below
	from, to := c.list.Window(len(c.all), top-2)
	if more := len(c.all) - to; more > 0 {
		title += p.Dim.Render(fmt.Sprintf("  ↓ %d more", more))
	}
	var lines []string
	for i := from; i < to; i++ {
		mark := "  "
		if i == c.list.At {
			mark = p.Accent.Render("▸ ")
		}
		lines = append(lines, mark+checkLine(p, c.all[i], w-6))
	}
	name := "evidence"
	if check, ok := c.selected(); ok {
		name = check.Title
	}
	return append(p.Focused().Panel(title, w, top, lines), p.Panel(p.Title.Render(name), w, below, about)...)
}

// about returns all that is known about the selected check.
func (d *doctor) about(p page, w int) []string {
	check, ok := d.checks.selected()
	if !ok {
		return []string{p.Dim.Render("checking...")}
	}
	out := widget.Wrap(widget.Clean(check.Evidence), w)
	if hasRepair(check) {
		out = append(out, repairLines(p, check.Repair, w)...)
		out = append(out, p.Key.Render("c")+p.Dim.Render(" copy the repair"))
	}
	return out
}

func hasRepair(c ops.Check) bool { return c.Repair != "" && c.Verdict != ops.Pass }

func (m *model) copyRepair() tea.Cmd {
	check, _ := m.doctor.checks.selected()
	return m.copy(m.typed(check.Repair))
}

func whyNoRepair(m *model) string {
	if check, ok := m.doctor.checks.selected(); !ok || !hasRepair(check) {
		return "there is nothing to repair here"
	}
	return ""
}
