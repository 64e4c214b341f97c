package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
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
	title := t.title.Render("doctor")
	switch {
	case c.working():
		title += t.info.Render(c.progress())
	case shortfall(c.all) == "":
		title += t.good.Render("  ✓ " + count(len(c.all), "check") + ", none fails")
	default:
		title += t.bad.Render("  ✗ " + shortfall(c.all))
	}
	if n := warned(c.all); n > 0 {
		title += t.warn.Render("  ! " + count(n, "warning"))
	}
	about := m.aboutCheck(w - 4)
	below := min(max(len(about)+2, 6), h/2) // mostly the same, so that moving down the list moves nothing else
	top := h - below
	from, to := c.list.window(len(c.all), top-2)
	if more := len(c.all) - to; more > 0 {
		title += t.dim.Render(fmt.Sprintf("  ↓ %d more", more))
	}
	var lines []string
	for i := from; i < to; i++ {
		mark := "  "
		if i == c.list.at {
			mark = t.accent.Render("▸ ")
		}
		lines = append(lines, mark+m.checkLine(c.all[i], w-6))
	}
	name := "evidence"
	if check, ok := m.check(); ok {
		name = check.Title
	}
	return append(t.panel(title, w, top, lines), t.panel(t.title.Render(name), w, below, about)...)
}

// check is the selected one.
func (m *model) check() (ops.Check, bool) {
	c := &m.doctor.checks
	if c.list.at < len(c.all) {
		return c.all[c.list.at], true
	}
	return ops.Check{}, false
}

// aboutCheck is all that is known of the selected check.
func (m *model) aboutCheck(w int) []string {
	check, ok := m.check()
	if !ok {
		return []string{m.theme.dim.Render("looking...")}
	}
	out := wrapped(clean(check.Evidence), w)
	if check.Repair != "" && check.Verdict != ops.Pass {
		for i, line := range wrapped(m.typed(clean(check.Repair)), w-2) {
			if i == 0 {
				line = m.theme.warn.Render("→ ") + line
			} else {
				line = "  " + line
			}
			out = append(out, line)
		}
		out = append(out, m.theme.key.Render("c")+m.theme.dim.Render(" copies the repair"))
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
