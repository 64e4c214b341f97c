package tui

import tea "charm.land/bubbletea/v2"

// clicked takes the wheel as the arrow keys, and a click on a row of a list as its selection.
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

// pick selects the row under the pointer.
func (m *model) pick(x, y int) {
	switch m.place() {
	case onDashboard:
		m.dashboard.pick(&m.state, len(m.causes(m.page(), m.w)), m.w, x, y)
	case onDoctor:
		m.doctor.checks.pick(y)
	}
}
