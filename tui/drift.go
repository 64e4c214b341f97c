package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// hasDrifted is whether something else is applied than the lock says.
func hasDrifted(c ops.ComponentStatus) bool {
	return c.Drift != "" || c.Desired != "" && c.Applied != "" && c.Desired != c.Applied
}

// driftView sets the lock against what is applied: exactly h lines of w cells.
func (m *model) driftView(w, h int) []string {
	t, st := m.theme, m.status()
	type row struct{ name, versions, how string }
	var rows []row
	for _, c := range m.components() {
		if hasDrifted(c) {
			rows = append(rows, row{c.Name, or(c.Applied, "none") + " → " + or(c.Desired, "none"), m.meets(c)})
		}
	}
	for _, d := range st.Platform {
		how := "needs a rebuild"
		if strings.Contains(d.Reason, " ") {
			how = d.Reason
		}
		rows = append(rows, row{d.Name, or(short(d.From), "none") + " → " + or(short(d.To), "none"), how})
	}
	nameW, versionsW := 0, 0
	for _, r := range rows {
		nameW, versionsW = max(nameW, len(r.name)+2), max(versionsW, ansi.StringWidth(r.versions)+2)
	}
	var out []string
	for _, r := range rows {
		line := t.Warn.Render("↑ ") + widget.Fit(widget.Clean(r.name), nameW) + widget.Fit(widget.Clean(r.versions), versionsW)
		if free := w - 4 - ansi.StringWidth(line); ansi.StringWidth(r.how) <= free {
			out = append(out, line+t.Dim.Render(widget.Clean(r.how)))
		} else {
			out = append(out, line)
			for _, how := range widget.Wrap(widget.Clean(r.how), w-8) {
				out = append(out, "    "+t.Dim.Render(how))
			}
		}
	}
	switch {
	case st.LockError != "":
		out = append(out, widget.Wrap(widget.Clean(st.LockError), w-4)...)
	case st.Guest == nil:
		out = append(out, "What is applied is not known: the box has not answered yet.")
	case len(out) == 0:
		out = append(out, t.Good.Render("✓ ")+"What is applied is what the lock and the config say.")
	default:
		out = append(out, "")
		for _, line := range widget.Wrap("The box goes on as it is: start installs nothing. An update replaces components and keeps the system, a "+
			"rebuild replaces the system and keeps the data disk; neither is part of this version yet.", w-4) {
			out = append(out, t.Dim.Render(line))
		}
	}
	title := t.Title.Render("drift") + t.Dim.Render("  lock and config against what is applied")
	return m.scrolled(title, w, h, out)
}

func (m *model) meets(c ops.ComponentStatus) string {
	d := m.wanted(c.Name)
	if d == nil {
		return c.Detail
	}
	var total int64
	for _, a := range d.Artifacts {
		total += a.Size
	}
	return "needs an update, " + widget.Size(total) + " to fetch"
}

// short cuts a digest to what a person compares.
func short(s string) string {
	if kind, hex, ok := strings.Cut(s, ":"); ok && len(hex) > 12 {
		return kind + ":" + hex[:12]
	}
	return s
}
