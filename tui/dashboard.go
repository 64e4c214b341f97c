package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// dashboard is the main view: the box, its components and suggestions.
type dashboard struct {
	list widget.List // of the components
}

// Sizes of the dashboard: the width of the panel of the box, and the smallest width at which that panel is beside the
// components.
const (
	boxWidth  = 29
	sideWidth = 76
)

// dashboardRoom holds the lines that the dashboard draws besides the state of the box.
type dashboardRoom struct {
	causes []string // what is wrong
	next   []string // what to do next
	keys   []string // what can be pressed, for a large terminal
}

// view draws exactly h lines of at most w cells.
func (d *dashboard) view(p page, s *state, r dashboardRoom, w, h int) []string {
	all := s.components()
	out := r.causes
	framed := h >= 20
	panel, list, border := p.Panel, p.Focused().Panel, 2
	if !framed {
		panel, list, border = p.Ruled, p.Focused().Ruled, 1
	}
	top := min(max(len(all), 6)+border, h-len(out))
	components := p.Title.Render("components")
	if w >= sideWidth {
		out = append(out, widget.Beside(panel(boxTitle(p, s), boxWidth, top, gauges(p, s, boxWidth-4)),
			list(components, w-boxWidth, top, d.rows(p, s, w-boxWidth-4, top-border)))...)
	} else {
		out = append(out, usageLine(p, s, w))
		top = min(top, h-len(out)-1-len(r.next))
		out = append(out, list(components, w, top, d.rows(p, s, w-(border-1)*4, top-border))...)
	}
	if room := h - len(out); room >= len(r.next)+border {
		out = append(out, panel(p.Title.Render("next"), w, len(r.next)+border, r.next)...)
	}
	if room := h - len(out); room >= 5 && framed && len(all) > 0 {
		title, lines := d.preview(p, s, w-4)
		low := max(len(lines), 9) + border // a minimum, so that the height seldom changes with the selection
		if room < low+border+8 {
			low = room
		}
		out = append(out, panel(p.Title.Render(title), w, low, lines)...)
		if low < room {
			out = append(out, panel(p.Title.Render("keys"), w, room-low, r.keys)...)
		}
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out[:h]
}

// rows draws the table of components in h lines.
func (d *dashboard) rows(p page, s *state, w, h int) []string {
	all := s.components()
	if len(all) == 0 {
		return []string{p.Dim.Render("nothing is known of them yet")}
	}
	versionW := 8
	for _, c := range all {
		versionW = max(versionW, ansi.StringWidth(versions(c)))
	}
	const markW, nameW, stateW = 2, 10, 15
	versionW = min(versionW+2, max(8, w-markW-nameW-stateW))
	remarkW := w - markW - nameW - versionW - stateW
	from, to := d.list.Window(len(all), h)
	var out []string
	for i := from; i < to; i++ {
		c := all[i]
		mark, name := "  ", widget.Fit(c.Name, nameW)
		if i == d.list.At {
			mark, name = p.Accent.Render("▸ "), p.Title.Render(name)
		}
		version := widget.Fit(versions(c), versionW)
		if hasDrifted(c) {
			version = p.Warn.Render(version)
		}
		line := mark + name + version
		if remarkW > 0 {
			text := remark(c)
			if ansi.StringWidth(text) >= remarkW {
				text = "" // too little room for a useful text
			}
			line += p.Dim.Render(widget.Fit(text, remarkW))
		}
		out = append(out, widget.Fit(line+drawComponent(p, s, c), w))
	}
	return out
}

// selected returns the selected component, or false if there is none.
func (d *dashboard) selected(s *state) (ops.ComponentStatus, bool) {
	all := s.components()
	if i := d.list.At; i >= 0 && i < len(all) {
		return all[i], true
	}
	return ops.ComponentStatus{}, false
}

func (m *model) selected() (ops.ComponentStatus, bool) { return m.dashboard.selected(&m.state) }

// preview returns the details of the selected component, with short digests.
func (d *dashboard) preview(p page, s *state, w int) (title string, lines []string) {
	c, ok := d.selected(s)
	if !ok {
		return "box", []string{p.Dim.Render("waiting for the first answer of the box")}
	}
	return c.Name, aboutComponent(p, s, c, w, short)
}

// pick selects the component at x, y. causes is the number of lines above the panels.
func (d *dashboard) pick(s *state, causes, w, x, y int) {
	first := 2 + causes // below the header and the upper edge of the panel
	if w >= sideWidth && x < boxWidth {
		return
	}
	if w < sideWidth {
		first++
	}
	if row, ok := d.list.Row(y-first, len(s.components())); ok {
		d.list.At = row
	}
}

func boxTitle(p page, s *state) string {
	title := p.Title.Render("box")
	if stale := s.stale(p.now); stale > 0 && s.status().Guest != nil {
		title += p.Dim.Render(" as seen " + age.Format(stale) + " ago")
	}
	return title
}

// gauges draws the panel of the box.
func gauges(p page, s *state, w int) []string {
	st := s.status()
	ports := widget.Fit("ports", 6) + ports(p, st)
	g := st.Guest
	if g == nil {
		return []string{p.Dim.Render("nothing is known yet"), "", "", "", ports}
	}
	const label, value = 6, 9
	bar := w - label - value - 1
	stale := s.stale(p.now) > 0
	ink := p.Info
	if stale {
		ink = p.Dim
	}
	row := func(name, drawn, text string) string {
		return widget.Fit(name, label) + drawn + " " + widget.Right(text, value)
	}
	used := func(name string, u protocol.Usage) string {
		ink := ink
		if nearlyFull(u) && !stale {
			ink, name = p.Warn, widget.Fit(name, label-2)+p.Warn.Render("! ")
		}
		return row(name, p.Gauge(u.Used, u.Total, bar, ink), usage(u))
	}
	cpu := "–"
	if st.Live {
		cpu = cpuLoad(g)
	}
	return []string{
		row("cpu", p.Border.Render(strings.Repeat("▁", max(0, bar-len(s.load))))+ink.Render(widget.Sparkline(s.load, bar)), cpu),
		used("mem", g.Memory),
		used("root", g.Root),
		used("data", g.Data),
		ports,
		widget.Fit("clock", 6) + clock(p, s),
	}
}

func cpuLoad(g *protocol.Status) string {
	return fmt.Sprintf("%.0f %%", min(999, 100*g.Load/float64(max(1, g.CPUs))))
}

// clock compares the clock of the box with that of this machine.
func clock(p page, s *state) string {
	switch skew := s.skew(); {
	case !s.status().Live:
		return p.Dim.Render("–")
	case skew != "":
		return p.Warn.Render("! " + skew)
	}
	return "in step"
}

// ports lists the ports of this machine, each with a sign that shows whether it leads into the box.
func ports(p page, st *ops.Status) string {
	mark := func(service string) string {
		for _, port := range st.Forwards {
			switch {
			case port.Service != service:
			case port.State == ops.PortOK:
				return " " + p.Good.Render("✓")
			case slices.Contains(st.PortProblems(), port):
				return " " + p.Warn.Render("!")
			}
		}
		return ""
	}
	return fmt.Sprintf("%d%s %d%s", st.Ports.Executor, mark("executor"), st.Ports.Dashboard, mark("dashboard"))
}

// usageLine draws the CPU, the memory and the disks of the box in one line.
func usageLine(p page, s *state, w int) string {
	st := s.status()
	g := st.Guest
	if g == nil {
		return widget.Fit("ports "+ports(p, st), w)
	}
	stale := s.stale(p.now)
	used := func(name string, u protocol.Usage) string {
		if nearlyFull(u) && stale == 0 {
			return p.Warn.Render(name + "! " + usage(u))
		}
		return name + " " + usage(u)
	}
	parts := []string{used("mem", g.Memory), used("root", g.Root), used("data", g.Data)}
	if st.Live {
		parts = append([]string{"cpu " + cpuLoad(g)}, parts...)
	}
	if stale > 0 {
		parts = append([]string{"as seen " + age.Format(stale) + " ago"}, parts...)
		return widget.Fit(p.Dim.Render(strings.Join(parts, "   ")), w)
	}
	return widget.Fit(strings.Join(parts, "   "), w)
}
