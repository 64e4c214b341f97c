package tui

import (
	tea "charm.land/bubbletea/v2"

	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// question is a dialog and the action that yes starts.
type question struct {
	widget.Dialog
	yes            func(m *model) tea.Cmd
	aboutOperation bool         // it closes when the operation ends
	waits          bool         // what was typed is being checked: only esc and ctrl+c work
	grace          widget.Grace // keys are ignored for a moment after refuse has shown the question
}

// confirm returns a question that is answered with y or n.
func confirm(title, text string) *question {
	return &question{Dialog: widget.Dialog{Title: title, Text: text, Yes: "yes", No: "no"}}
}

// refuse shows a question again with the texts that were typed, and below them why they were refused.
func (m *model) refuse(q *question, err error) {
	q.Refuse(err.Error(), m.typed(fault.HintOf(err)))
	q.waits, q.grace = false, widget.NewGrace(m.now())
	m.dialog = q
}

// answer passes a key to the question.
func (m *model) answer(k tea.KeyPressMsg) tea.Cmd {
	q := m.dialog
	if q.grace.Ignores(m.now()) || q.waits && k.String() != "esc" && k.String() != "ctrl+c" {
		return nil
	}
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
