package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/tui/widget"
)

// The least size that is laid out. Below it there is one plain line.
const (
	leastWidth  = 60
	leastHeight = 16
)

// View is one frame.
func (m *model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen, v.ReportFocus = true, true
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// frame is what is on the screen: at most m.h lines of at most m.w cells.
func (m *model) frame() string {
	if m.w <= 0 || m.h <= 0 {
		return ""
	}
	var lines []string
	if m.small() {
		lines = []string{m.smallView()}
	} else {
		lines = append([]string{m.header(m.w)}, m.body(m.w, m.h-2)...)
		lines = append(lines, m.footer(m.w))
		lines = m.overlaid(lines)
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(widget.Flat(line), m.w, "")
	}
	frame := strings.Join(lines[:min(len(lines), m.h)], "\n")
	if m.ascii {
		frame = widget.ToASCII(frame)
	}
	return frame
}

// small is whether the terminal is too small to lay anything out.
func (m *model) small() bool { return m.w < leastWidth || m.h < leastHeight }

func (m *model) smallView() string {
	if m.running() {
		done, all := m.op.at()
		return fmt.Sprintf("%s %d of %d; needs %dx%d", m.op.verb.id, done, all, leastWidth, leastHeight)
	}
	return fmt.Sprintf("%s %s; needs %dx%d; q quits", m.name(), m.status().State, leastWidth, leastHeight)
}

// header is the line above every view: which box, in which state.
func (m *model) header(w int) string {
	t, st := m.theme, m.status()
	name := t.Title.Render(m.name())
	switch m.label {
	case "":
	case m.name():
		name = t.Warn.Render(m.label)
	default:
		name = t.Warn.Render(m.label) + " " + name
	}
	left := []string{name, stateSign(t, st.State)}
	switch {
	case m.running():
		done, all := m.op.at()
		left[1] = t.Info.Render(fmt.Sprintf("▸ %s %d of %d", m.op.verb.id, done, all))
	case m.known.Err != nil:
		left[1] = t.Warn.Render("! no config")
	}
	if g := st.Guest; g != nil && m.hasBox() {
		left = append(left, widget.Clean(g.OS+" "+g.Arch))
		if st.Live {
			left = append(left, "up "+widget.Age(m.upTime()))
		}
	}
	var rights []string
	switch {
	case m.known.Err != nil:
	case m.known.Lock != nil:
		rights = append(rights, "lock "+t.Good.Render("✓"))
	default:
		rights = append(rights, "lock "+t.Warn.Render("! missing or wrong"))
	}
	if n := m.drifted(); n > 0 {
		rights = append(rights, t.Warn.Render(fmt.Sprintf("↑ %d drift", n)))
	}
	return widget.Spread(w, left, rights)
}

// body is the view: exactly h lines.
func (m *model) body(w, h int) []string {
	var lines []string
	switch m.place() {
	case onFirst:
		lines = m.firstView(w, h)
	case onOperation:
		lines = m.operationView(w, h)
	case onDetails:
		lines = m.detailsView(w, h)
	case onDrift:
		lines = m.driftView(w, h)
	case onLogs:
		lines = m.logsView(w, h)
	case onDoctor:
		lines = m.doctorView(w, h)
	default:
		lines = m.dashboardView(w, h)
	}
	for len(lines) < h {
		lines = append(lines, "")
	}
	return lines[:h]
}

// overlaid puts what is on top over a frame.
func (m *model) overlaid(lines []string) []string {
	w, h := min(m.w-4, 76), m.h-4
	switch {
	case m.failure != nil:
		title := m.theme.Bad.Render("✗ " + m.failure.what + " failed")
		return m.over(lines, title, w, m.failure.view(m, w-4, h-2))
	case m.dialog != nil:
		w = min(w, 64)
		title := m.theme.Title.Render(m.dialog.Title)
		if m.dialog.Typed() {
			title = m.theme.Bad.Render("! " + m.dialog.Title)
		}
		return m.over(lines, title, w, m.dialog.View(m.theme, w-4, len(lines)-2))
	case m.finder != nil:
		w, h = min(m.w-4, 96), min(h, 26)
		title := "keys"
		if m.finder.palette {
			title, h = "command", min(h, 14)
		}
		inside := m.finder.view(m, w-4, h-2)
		for len(inside) < h-2 {
			inside = append(inside, "")
		}
		return m.over(lines, m.theme.Title.Render(title), w, inside)
	}
	return lines
}

// over draws a panel in the middle of a frame whose rest steps back.
func (m *model) over(lines []string, title string, w int, inside []string) []string {
	h := min(len(inside)+2, len(lines))
	top, left := (len(lines)-h)/2, (m.w-w)/2
	box := m.theme.Panel(title, w, h, inside)
	left, w = left-1, w+2 // a cell of air at both sides
	const readable = 16   // cells: what shows of a line beside the panel, where it is less, is splinters
	for i, line := range lines {
		back := widget.Fit(ansi.Strip(line), m.w)
		if i < top || i >= top+len(box) {
			if i < len(lines)-1 { // the last says what a key has done
				lines[i] = m.theme.Dim.Render(back)
			}
			continue
		}
		if left < readable {
			back = strings.Repeat(" ", m.w)
		}
		lines[i] = m.theme.Dim.Render(ansi.Cut(back, 0, left)) + " " + box[i-top] + " " + m.theme.Dim.Render(ansi.Cut(back, left+w, m.w))
	}
	return lines
}
