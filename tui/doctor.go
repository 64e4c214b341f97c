package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// doctor is the view of all checks.
type doctor struct{ checks checks }

// openDoctor makes the checks: those of an earlier look say nothing of now.
func (m *model) openDoctor() tea.Cmd {
	m.show(onDoctor)
	if m.doctor.checks.working() {
		return nil
	}
	return m.doctor.checks.begin(m)
}

// doctorView lists the checks; below is all of the selected one: exactly h lines of w cells.
func (m *model) doctorView(w, h int) []string {
	t, c := m.theme, &m.doctor.checks
	title := t.Title.Render("doctor")
	switch {
	case c.working():
		title += t.Info.Render(c.progress())
	case shortfall(c.all) == "":
		title += t.Good.Render("  ✓ " + widget.Count(len(c.all), "check") + ", none fails")
	default:
		title += t.Bad.Render("  ✗ " + shortfall(c.all))
	}
	if n := warned(c.all); n > 0 {
		title += t.Warn.Render("  ! " + widget.Count(n, "warning"))
	}
	about := m.aboutCheck(w - 4)
	below := min(max(len(about)+2, 6), h/2) // mostly the same, so that moving down the list moves nothing else
	top := h - below
	from, to := c.list.Window(len(c.all), top-2)
	if more := len(c.all) - to; more > 0 {
		title += t.Dim.Render(fmt.Sprintf("  ↓ %d more", more))
	}
	var lines []string
	for i := from; i < to; i++ {
		mark := "  "
		if i == c.list.At {
			mark = t.Accent.Render("▸ ")
		}
		lines = append(lines, mark+m.checkLine(c.all[i], w-6))
	}
	name := "evidence"
	if check, ok := m.check(); ok {
		name = check.Title
	}
	return append(t.Panel(title, w, top, lines), t.Panel(t.Title.Render(name), w, below, about)...)
}

// check is the selected one.
func (m *model) check() (ops.Check, bool) {
	c := &m.doctor.checks
	if c.list.At < len(c.all) {
		return c.all[c.list.At], true
	}
	return ops.Check{}, false
}

// aboutCheck is all that is known of the selected check.
func (m *model) aboutCheck(w int) []string {
	check, ok := m.check()
	if !ok {
		return []string{m.theme.Dim.Render("looking...")}
	}
	out := widget.Wrap(widget.Clean(check.Evidence), w)
	if check.Repair != "" && check.Verdict != ops.Pass {
		for i, line := range widget.Wrap(m.typed(widget.Clean(check.Repair)), w-2) {
			if i == 0 {
				line = m.theme.Warn.Render("→ ") + line
			} else {
				line = "  " + line
			}
			out = append(out, line)
		}
		out = append(out, m.theme.Key.Render("c")+m.theme.Dim.Render(" copies the repair"))
	}
	return out
}

// copyRepair puts the repair of the selected check on the clipboard.
func (m *model) copyRepair() tea.Cmd {
	check, _ := m.check()
	return m.copy(m.typed(check.Repair))
}

func whyNoRepair(m *model) string {
	if check, ok := m.check(); !ok || check.Repair == "" || check.Verdict == ops.Pass {
		return "nothing to mend here"
	}
	return ""
}
