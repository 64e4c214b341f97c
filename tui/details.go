package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// details is the view of one component.
type details struct{ scroll widget.Scroll }

// openDetails shows the selected component and, if it has a log, the end of it.
func (m *model) openDetails() tea.Cmd {
	m.show(onDetails)
	m.details = details{}
	c, ok := m.selected()
	if !ok || !isGuestLog(c.Name) || m.status().State != "running" {
		return nil
	}
	return m.logs.open(m.worker, c.Name)
}

// logLinesOf returns the last lines of the log of a component, if that log is open.
func (m *model) logLinesOf(c ops.ComponentStatus, w int) []string {
	if !isGuestLog(c.Name) || m.logs.source != c.Name {
		return nil
	}
	return widget.Last(m.logs.draw(w), m.h)
}

// view draws all that is known about a component, and the end of its log: exactly h lines of w cells.
func (d *details) view(p page, s *state, c ops.ComponentStatus, log []string, w, h int) []string {
	if c.Name == "" {
		return p.Panel(p.Title.Render("details"), w, h, []string{"Nothing is known of the components yet."})
	}
	title, about := p.Title.Render(c.Name)+"  "+drawComponent(p, s, c), aboutComponent(p, s, c, w-4, strings.Clone)
	below := h - len(about) - 2
	if below < 5 || len(log) == 0 {
		return p.scrolled(&d.scroll, title, w, h, about)
	}
	var last []string
	for _, line := range widget.Last(log, below-2) {
		last = append(last, p.Dim.Render(ansi.Truncate(line, w-4, "…")))
	}
	return append(p.scrolled(&d.scroll, title, w, h-below, about), p.Panel(p.Title.Render("log of "+c.Name), w, below, last)...)
}
