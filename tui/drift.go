package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/ops"
	"hermes-box/ops/lock"
	"hermes-box/tui/widget"
)

// drift is the view that compares the lock and the config with what is applied.
type drift struct{ scroll widget.Scroll }

func (m *model) openDrift() tea.Cmd {
	m.show(onDrift)
	m.drift = drift{}
	return nil
}

type driftRow struct{ name, versions, how string }

func driftRows(s *state) (rows []driftRow) {
	for _, c := range s.components() {
		if hasDrifted(c) {
			rows = append(rows, driftRow{c.Name, or(c.Applied, "none") + " → " + or(c.Desired, "none"), s.remedy(c)})
		}
	}
	for _, d := range s.status().Platform {
		how := "needs a rebuild"
		if strings.Contains(d.Reason, " ") {
			how = d.Reason
		}
		rows = append(rows, driftRow{d.Name, or(short(d.From), "none") + " → " + or(short(d.To), "none"), how})
	}
	return rows
}

// view draws exactly h lines of w cells.
func (d *drift) view(p page, s *state, w, h int) []string {
	st := s.status()
	rows := driftRows(s)
	nameW, versionsW := 0, 0
	for _, r := range rows {
		nameW, versionsW = max(nameW, ansi.StringWidth(r.name)+2), max(versionsW, ansi.StringWidth(r.versions)+2)
	}
	var out []string
	for _, r := range rows {
		line := p.Warn.Render("↑ ") + widget.Fit(widget.Clean(r.name), nameW) + widget.Fit(widget.Clean(r.versions), versionsW)
		if free := w - 4 - ansi.StringWidth(line); ansi.StringWidth(r.how) <= free {
			out = append(out, line+p.Dim.Render(widget.Clean(r.how)))
			continue
		}
		out = append(out, line)
		for _, how := range widget.Wrap(widget.Clean(r.how), w-8) {
			out = append(out, "    "+p.Dim.Render(how))
		}
	}
	switch {
	case st.LockError != "":
		out = append(out, widget.Wrap(widget.Clean(st.LockError), w-4)...)
	case st.Guest == nil:
		out = append(out, "The installed versions are not known: the box has not answered yet.")
	case len(out) == 0:
		out = append(out, p.Good.Render("✓ ")+"The box matches the lock and the config.")
	default:
		out = append(out, "")
		for _, line := range widget.Wrap("The box keeps running as it is: start installs nothing. An update replaces components and keeps the system; a "+
			"rebuild replaces the system and keeps the data disk. Neither is part of this version yet.", w-4) {
			out = append(out, p.Dim.Render(line))
		}
	}
	title := p.Title.Render("drift") + p.Dim.Render("  installed and locked versions")
	return p.scrolled(&d.scroll, title, w, h, out)
}

// remedy returns what removes the drift of a component, with the size of its download. For a component that is not in
// the lock, it returns the reason of the drift.
func (s *state) remedy(c ops.ComponentStatus) string {
	d := s.desired(c.Name)
	if d == nil {
		return driftReason(c)
	}
	return "needs an update, " + widget.Size(downloadSize(d.Artifacts)) + " to download"
}

func downloadSize(all []lock.Artifact) (total int64) {
	for _, a := range all {
		total += a.Size
	}
	return total
}

// short shortens a digest to the part that people compare.
func short(s string) string {
	if kind, hex, ok := strings.Cut(s, ":"); ok && len(hex) > 12 {
		return kind + ":" + hex[:12]
	}
	return s
}
