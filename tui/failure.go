package tui

import (
	tea "charm.land/bubbletea/v2"

	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// failure is an error that is shown on top of the view until the user closes it.
type failure struct {
	err    error
	what   string // the action that failed
	output string // of the command that failed
	scroll widget.Scroll
	grace  widget.Grace
}

func (m *model) fail(f *failure) {
	f.grace = widget.NewGrace(m.now())
	m.failure, m.lastFailure = f, f
}

// showError shows the last error again.
func (m *model) showError() tea.Cmd {
	m.failure = m.lastFailure
	m.failure.grace, m.failure.scroll = widget.Grace{}, widget.Scroll{}
	return nil
}

// failureKey handles a key while an error is shown.
func (m *model) failureKey(name string) tea.Cmd {
	f := m.failure
	if f.grace.Ignores(m.now()) {
		return nil
	}
	switch name {
	case "esc", "enter", "q", "ctrl+c", "e":
		m.failure = nil
	case "c":
		return m.copy(m.typed(f.useful()))
	case "up", "k":
		f.scroll.Move(-1)
	case "down", "j":
		f.scroll.Move(1)
	case "pgup":
		f.scroll.Move(-10)
	case "pgdown", "space":
		f.scroll.Move(10)
	}
	return nil
}

// useful returns the text to copy: the hint or, if there is none, the error.
func (f *failure) useful() string { return or(fault.HintOf(f.err), f.err.Error()) }

// view draws the inside of the overlay: w cells, at most h lines.
func (f *failure) view(p page, w, h int) []string {
	text := widget.Wrap(widget.Clean(f.err.Error()), w)
	if hint := p.hint(f.err, w); hint != nil {
		text = append(append(text, ""), hint...)
	}
	if f.output != "" {
		text = append(text, "", p.Dim.Render("its last output:"))
		for _, line := range widget.Wrap(widget.Clean(f.output), w) {
			text = append(text, p.Dim.Render(line))
		}
	}
	from, to := f.scroll.Window(len(text), h-2)
	out := append([]string{}, text[from:to]...)
	what := "error"
	if fault.HintOf(f.err) != "" {
		what = "hint"
	}
	keys := p.Key.Render("esc") + " close   " + p.Key.Render("c") + " copy the " + what
	if len(text) > to-from {
		keys += "   " + p.Key.Render("↑↓") + " scroll"
	}
	return append(out, "", keys)
}
