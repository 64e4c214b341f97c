package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/internal/age"
	"hermes-box/tui/widget"
)

// The smallest terminal that is laid out. In a smaller one the frame is one plain line.
const (
	leastWidth  = 60
	leastHeight = 16
)

// View returns one frame.
func (m *model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen, v.ReportFocus = true, true
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// frame draws the screen: at most m.h lines of at most m.w cells.
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

// small reports whether the terminal is too small for the layout.
func (m *model) small() bool { return m.w < leastWidth || m.h < leastHeight }

func (m *model) smallView() string {
	if m.own != nil {
		done, all := m.own.progress()
		return fmt.Sprintf("%s %d of %d; needs %dx%d", m.own.verb.name, done, all, leastWidth, leastHeight)
	}
	return fmt.Sprintf("%s %s; needs %dx%d; q quits", m.name(), m.status().State, leastWidth, leastHeight)
}

// header draws the line above every view: the box and its state.
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
	left := []string{name, t.Sign(m.sign())}
	if g := st.Guest; g != nil && m.hasBox() {
		left = append(left, widget.Clean(g.OS+" "+g.Arch))
		if st.Live && m.own == nil {
			left = append(left, "up "+age.Format(m.upTime(m.now())))
		}
	}
	var rights []string
	if text := m.backupAge(m.page()); text != "" && m.hasBox() {
		rights = append(rights, text)
	}
	switch {
	case m.known.Err != nil:
	case m.known.Lock == nil:
		rights = append(rights, "lock "+t.Warn.Render("! missing or wrong"))
	case !m.hasBox():
		rights = append(rights, "lock "+t.Good.Render("✓"))
	}
	if n := m.drifted(); n > 0 {
		rights = append(rights, t.Warn.Render(fmt.Sprintf("↑ %d drift", n)))
	}
	return widget.Spread(w, left, rights)
}

// body draws the current view: exactly h lines.
func (m *model) body(w, h int) []string {
	p, s := m.page(), &m.state
	var lines []string
	switch m.place() {
	case onFirst:
		lines = m.first.view(p, s, whyNotCreate(m), w, h)
	case onOperation:
		lines = m.op.view(p, w, h)
	case onDetails:
		c, _ := m.selected()
		lines = m.details.view(p, s, c, m.logLinesOf(c, w-4), w, h)
	case onDrift:
		lines = m.drift.view(p, s, w, h)
	case onLogs:
		lines = m.logs.view(p, w, h)
	case onDoctor:
		lines = m.doctor.view(p, w, h)
	case onFiles:
		lines = m.files.view(p, w, h)
	case onBackups:
		lines = m.backups.view(p, s, w, h)
	default:
		lines = m.dashboard.view(p, s, dashboardRoom{s.causes(p, w), s.nextLines(p, w-4), m.keyLines(w - 4)}, w, h)
	}
	for len(lines) < h {
		lines = append(lines, "")
	}
	return lines[:h]
}

// keyLines draws the keys that work on the dashboard now, for a terminal with room for them.
func (m *model) keyLines(w int) (out []string) {
	p := m.page()
	for _, b := range m.keys {
		if b.in&onDashboard != 0 && !b.move && len(b.keys) > 0 && b.reason(m) == "" {
			out = append(out, widget.Fit(p.keyLine(b.firstKey(), 11, b, ""), w))
		}
	}
	return out
}

// overlaid draws the error, the question or the finder on top of a frame.
func (m *model) overlaid(lines []string) []string {
	p, w, h := m.page(), min(m.w-4, 76), m.h-4
	switch {
	case m.failure != nil:
		return p.Over(lines, m.w, p.Bad.Render("✗ "+m.failure.what+" failed"), w, m.failure.view(p, w-4, h-2))
	case m.dialog != nil:
		w = min(w, 64)
		title := p.Title.Render(m.dialog.Title)
		if m.dialog.Destroys() {
			title = p.Bad.Render("! " + m.dialog.Title)
		}
		return p.Over(lines, m.w, title, w, m.dialog.View(p.Theme, w-4, len(lines)-2))
	case m.finder != nil:
		w, h = min(m.w-4, 96), min(h, 26)
		title := "keys"
		if m.finder.palette {
			title, h = "command", min(h, 14)
		}
		inside := m.finder.view(p, m.offers(), w-4, h-2)
		for len(inside) < h-2 {
			inside = append(inside, "")
		}
		return p.Over(lines, m.w, p.Title.Render(title), w, inside)
	}
	return lines
}
