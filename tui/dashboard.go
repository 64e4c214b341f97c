package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/lock"
	"hermes-box/tui/widget"
)

// dashboard is the first view: the box, its components, what to do next.
type dashboard struct {
	components widget.List
}

// boxWidth is how wide the panel of the box is beside that of the components.
const boxWidth = 29

// dashboardView is exactly h lines of w cells.
func (m *model) dashboardView(w, h int) []string {
	t := m.theme
	rows := max(len(m.components()), 1)
	out := m.causes(w)
	next := m.nextLines(w - 4)
	framed := h >= 20
	panel := t.Panel
	border := 2
	if !framed {
		panel, border = t.Ruled, 1
	}
	top := min(max(rows, 6)+border, h-len(out))
	if w >= 76 {
		out = append(out, widget.Beside(panel(m.boxTitle(), boxWidth, top, m.gauges(boxWidth-4)),
			panel(t.Title.Render("components"), w-boxWidth, top, m.componentLines(w-boxWidth-4, top-border)))...)
	} else {
		out = append(out, m.oneLine(w))
		top = min(top, h-len(out)-1-len(next))
		out = append(out, panel(t.Title.Render("components"), w, top, m.componentLines(w-(border-1)*4, top-border))...)
	}
	if room := h - len(out); room >= len(next)+border {
		out = append(out, panel(t.Title.Render("next"), w, len(next)+border, next)...)
	}
	if room := h - len(out); room >= 5 && framed && len(m.components()) > 0 {
		title, lines := m.preview(w - 4)
		low := max(len(lines), 9) + border // mostly the same, so that moving down the list moves nothing else
		if room < low+border+8 {
			low = room
		}
		out = append(out, panel(t.Title.Render(title), w, low, lines)...)
		if low < room {
			out = append(out, panel(t.Title.Render("keys"), w, room-low, m.keyLines(w-4))...)
		}
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out[:h]
}

// causes are the lines above the panels that say what is not as it should be.
func (m *model) causes(w int) (out []string) {
	t, st := m.theme, m.status()
	add := func(s string) {
		for i, line := range widget.Wrap(m.typed(widget.Clean(s)), w-2) {
			if i == 2 {
				break
			}
			mark := "  "
			if i == 0 {
				mark = t.Warn.Render("! ")
			}
			out = append(out, widget.Fit(mark+line, w))
		}
	}
	if m.known.Err != nil {
		add(m.known.Err.Error())
	}
	if m.poll.err != nil && m.ctx.Err() == nil {
		add(m.poll.err.Error())
	}
	if st.Cause != "" {
		add(st.Cause)
	}
	if u := m.others(); u != nil {
		add("another hermes-box: " + u.String())
	} else if st.Busy != "" && !m.running() {
		add(st.Busy)
	}
	if st.LockError != "" {
		add(st.LockError)
	}
	if asked := m.now().Sub(m.poll.asked); m.poll.asking && asked > 2*pollOften {
		add("no answer from the box for " + widget.Age(asked) + "; this is what was known before")
	}
	return out
}

func (m *model) boxTitle() string {
	title := m.theme.Title.Render("box")
	if s := m.stale(); s > 0 && m.status().Guest != nil {
		title += m.theme.Dim.Render(" as seen " + widget.Age(s) + " ago")
	}
	return title
}

// gauges are the panel of the box.
func (m *model) gauges(w int) []string {
	t, st := m.theme, m.status()
	ports := widget.Fit("ports", 6) + fmt.Sprintf("%d %d", st.Ports.Executor, st.Ports.Dashboard)
	g := st.Guest
	if g == nil {
		return []string{t.Dim.Render("nothing is known yet"), "", "", "", ports}
	}
	const label, value = 6, 9
	bar := w - label - value - 1
	style := t.Info
	if m.stale() > 0 {
		style = t.Dim
	}
	row := func(name, drawn, text string) string {
		return widget.Fit(name, label) + drawn + " " + widget.Right(text, value)
	}
	used := func(name string, u protocol.Usage) string {
		style := style
		if u.Used*10 > u.Total*9 && m.stale() == 0 {
			style = t.Warn
		}
		return row(name, t.Gauge(u.Used, u.Total, bar, style), usage(u))
	}
	cpu := "–"
	if st.Live {
		cpu = fmt.Sprintf("%.0f %%", min(999, 100*g.Load/float64(max(1, g.CPUs))))
	}
	return []string{
		row("cpu", t.Border.Render(strings.Repeat("▁", max(0, bar-len(m.poll.load))))+style.Render(widget.Sparkline(m.poll.load, bar)), cpu),
		used("mem", g.Memory),
		used("root", g.Root),
		used("data", g.Data),
		ports,
		widget.Fit("clock", 6) + m.clock(),
	}
}

// clock tells whether the clock of the box is that of this machine.
func (m *model) clock() string {
	st, off := m.status(), m.poll.ahead
	switch {
	case !st.Live:
		return m.theme.Dim.Render("–")
	case off > 5*time.Second:
		return m.theme.Warn.Render("! " + widget.Age(off) + " ahead")
	case off < -5*time.Second:
		return m.theme.Warn.Render("! " + widget.Age(-off) + " behind")
	}
	return "in step"
}

// oneLine is the panel of the box where it has room for one line alone.
func (m *model) oneLine(w int) string {
	g := m.status().Guest
	if g == nil {
		return widget.Fit(m.theme.Dim.Render(fmt.Sprintf("ports %d %d", m.status().Ports.Executor, m.status().Ports.Dashboard)), w)
	}
	parts := []string{"mem " + usage(g.Memory), "root " + usage(g.Root), "data " + usage(g.Data)}
	if m.status().Live {
		parts = append([]string{fmt.Sprintf("cpu %.0f %%", min(999, 100*g.Load/float64(max(1, g.CPUs))))}, parts...)
	}
	if s := m.stale(); s > 0 {
		parts = append([]string{"as seen " + widget.Age(s) + " ago"}, parts...)
		return widget.Fit(m.theme.Dim.Render(strings.Join(parts, "   ")), w)
	}
	return widget.Fit(strings.Join(parts, "   "), w)
}

// componentLines is the table of components in h lines.
func (m *model) componentLines(w, h int) []string {
	t, all := m.theme, m.components()
	if len(all) == 0 {
		return []string{t.Dim.Render("nothing is known of them yet")}
	}
	versionW := 8
	for _, c := range all {
		versionW = max(versionW, ansi.StringWidth(versions(c)))
	}
	const markW, nameW, stateW = 2, 10, 15
	versionW = min(versionW+2, max(8, w-markW-nameW-stateW))
	noteW := w - markW - nameW - versionW - stateW
	from, to := m.dashboard.components.Window(len(all), h)
	var out []string
	for i := from; i < to; i++ {
		c := all[i]
		mark, name := "  ", widget.Fit(c.Name, nameW)
		if i == m.dashboard.components.At {
			mark, name = t.Accent.Render("▸ "), t.Title.Render(name)
		}
		line := mark + name + widget.Fit(versions(c), versionW)
		if noteW > 0 {
			remark := m.remark(c)
			if ansi.StringWidth(remark) >= noteW {
				remark = "" // half a word says nothing
			}
			line += t.Dim.Render(widget.Fit(remark, noteW))
		}
		out = append(out, widget.Fit(line+m.componentState(c), w))
	}
	return out
}

// components are those of the last status; of a box that has never been asked, those of the lock.
func (m *model) components() []ops.ComponentStatus {
	if all := m.status().Components; len(all) > 0 || m.known.Lock == nil {
		return all
	}
	var all []ops.ComponentStatus
	for _, name := range lock.Order {
		all = append(all, ops.ComponentStatus{Name: name, Desired: m.wanted(name).Version, State: "unknown"})
	}
	return all
}

// versions is what is applied, and what the lock wants instead.
func versions(c ops.ComponentStatus) string {
	switch {
	case c.Applied == "":
		return c.Desired
	case c.Desired != "" && c.Desired != c.Applied:
		return c.Applied + " → " + c.Desired
	}
	return c.Applied
}

// remark is what there is to say of a component in a few words.
func (m *model) remark(c ops.ComponentStatus) string {
	up := ""
	if c.Service == "active" && c.Since > 0 {
		up = "up " + widget.Age(time.Duration(c.Since)*time.Second)
	}
	if c.Detail == "" {
		return up
	}
	return widget.Clean(c.Detail)
}

// componentState is the state of a component; of one in a box that has not been asked yet, the one it had.
func (m *model) componentState(c ops.ComponentStatus) string {
	var state string
	switch {
	case c.State != ops.NotAsked || c.Last == "":
		state = stateSign(m.theme, c.State)
	case c.Last == protocol.SetupRequired:
		state = m.theme.Dim.Render("○ had no login")
	default:
		state = m.theme.Dim.Render("○ was " + c.Last)
	}
	if hasDrifted(c) {
		state += m.theme.Warn.Render(" ↑")
	}
	return state
}

// selected is the component that is marked; false if there is none.
func (m *model) selected() (ops.ComponentStatus, bool) {
	all := m.components()
	if i := m.dashboard.components.At; i >= 0 && i < len(all) {
		return all[i], true
	}
	return ops.ComponentStatus{}, false
}
