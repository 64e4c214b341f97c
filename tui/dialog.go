package tui

import (
	tea "charm.land/bubbletea/v2"

	"hermes-box/tui/widget"
)

// question is a dialog and the action that yes starts.
type question struct {
	widget.Dialog
	yes            func(m *model) tea.Cmd
	aboutOperation bool // it closes when the operation ends
}

// confirm returns a question that is answered with y or n.
func confirm(title, text string) *question {
	return &question{Dialog: widget.Dialog{Title: title, Text: text, Yes: "yes", No: "no"}}
}

// answer gives a key to the question.
func (m *model) answer(k tea.KeyPressMsg) tea.Cmd {
	q := m.dialog
	answer, cmd := q.Key(k)
	switch answer {
	case widget.Agreed:
		m.dialog = nil
		return q.yes(m)
	case widget.Refused:
		m.dialog = nil
	}
	return cmd
}
