package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// clicked takes the wheel as the arrow keys, and a click on a row of a list as its selection.
func (m *model) clicked(msg tea.MouseMsg) tea.Cmd {
	if m.dialog != nil {
		return nil
	}
	switch e := msg.(type) {
	case tea.MouseWheelMsg:
		by := 0
		switch e.Button {
		case tea.MouseWheelUp:
			by = -3
		case tea.MouseWheelDown:
			by = 3
		}
		switch {
		case m.failure != nil:
			m.failure.top += by
		case m.finder != nil:
			m.finder.list.Move(by, len(m.finder.found(m)))
		default:
			return m.move(by)
		}
	case tea.MouseClickMsg:
		if m.failure == nil && m.finder == nil && e.Button == tea.MouseLeft {
			m.pick(e.X, e.Y)
		}
	}
	return nil
}

// pick selects the row under the pointer.
func (m *model) pick(x, y int) {
	switch m.place() {
	case onDashboard:
		first := 2 + len(m.causes(m.w)) // below the header and the upper edge of the panel
		if m.w >= 76 && x < boxWidth {
			return
		}
		if m.w < 76 {
			first++
		}
		l := &m.dashboard.components
		if row := l.Top + y - first; y >= first && row < len(m.components()) {
			l.At = row
		}
	case onDoctor:
		l := &m.doctor.checks.list
		if row := l.Top + y - 2; y >= 2 && row < len(m.doctor.checks.all) {
			l.At = row
		}
	}
}

// upTime is how long the box has been up, by now and not by when it was asked.
func (m *model) upTime() time.Duration {
	up := time.Duration(m.status().Guest.Uptime) * time.Second
	if !m.poll.seen.IsZero() {
		up += m.now().Sub(m.poll.seen)
	}
	return up
}
