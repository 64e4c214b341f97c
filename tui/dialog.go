package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// question is a dialog and what is done when it is agreed to.
type question struct {
	widget.Dialog
	yes            func(m *model) tea.Cmd
	aboutOperation bool // it closes when the operation ends
}

// confirm is a question that y answers.
func confirm(title, text string) *question {
	return &question{Dialog: widget.Dialog{Title: title, Text: text, Yes: "yes", No: "no"}}
}

// byName is the question before a destructive operation: only the name of the box answers it.
func (m *model) byName(o ops.Operation) *question {
	q := &question{Dialog: widget.Dialog{Title: strings.ToUpper(o.Name[:1]) + o.Name[1:] + " " + m.name(), Yes: o.Name, No: "keep it",
		Text: o.Ask + "\n\nType the name of the box to " + o.Name + " it."}}
	q.TypeName(m.name())
	return q
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
