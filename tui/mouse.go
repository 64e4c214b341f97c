package tui

import tea "charm.land/bubbletea/v2"

// clicked handles the mouse: the wheel moves like the arrow keys, a click selects the row of a list.
func (m *model) clicked(msg tea.MouseMsg) tea.Cmd {
	if m.dialog != nil || m.small() {
		return nil
	}
	switch e := msg.(type) {
	case tea.MouseWheelMsg:
		by := map[tea.MouseButton]int{tea.MouseWheelUp: -3, tea.MouseWheelDown: 3}[e.Button]
		switch {
		case m.failure != nil:
			m.failure.scroll.Move(by)
		case m.finder != nil:
			m.finder.list.Move(by, len(m.finder.found(m.offers())))
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

// pick selects the row at x, y.
func (m *model) pick(x, y int) {
	switch m.place() {
	case onDashboard:
		m.dashboard.pick(&m.state, len(m.causes(m.page(), m.w)), m.w, x, y)
	case onDoctor:
		m.doctor.checks.pick(y)
	case onFiles:
		m.files.pick(y)
	case onBackups:
		m.backups.pick(m.known.Backups, y)
	}
}
