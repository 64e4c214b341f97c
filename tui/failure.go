package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// failure is an error on top of everything until it has been read.
type failure struct {
	err    error
	what   string // what was tried
	at     time.Time
	output string // of what failed
	top    int    // first line shown

	grace widget.Grace
}

// fail shows an error that nobody has asked for.
func (m *model) fail(f *failure) {
	f.grace, f.top = widget.NewGrace(m.now()), 0
	m.failure, m.lastFailure = f, f
}

// again shows the last error once more.
func (m *model) again() tea.Cmd {
	m.failure = m.lastFailure
	m.failure.grace = widget.Grace{}
	return nil
}

func (f *failure) key(m *model, name string) tea.Cmd {
	if f.grace.Ignores(m.now()) {
		return nil
	}
	switch name {
	case "esc", "enter", "q", "ctrl+c", "e":
		m.failure = nil
	case "c":
		text := fault.HintOf(f.err)
		if text == "" {
			text = f.err.Error()
		}
		return m.copy(m.typed(text))
	case "up", "k":
		f.top--
	case "down", "j":
		f.top++
	case "pgup":
		f.top -= 10
	case "pgdown", "space":
		f.top += 10
	}
	return nil
}

// hint is what to do about an error, in lines of w cells; nil if there is none.
func (m *model) hint(err error, w int) []string {
	hint := m.typed(widget.Clean(fault.HintOf(err)))
	if hint == "" {
		return nil
	}
	out := widget.Wrap("hint: "+hint, w)
	out[0] = m.theme.Warn.Render("hint:") + strings.TrimPrefix(out[0], "hint:")
	return out
}

// view is the inside of the overlay: w cells, at most h lines.
func (f *failure) view(m *model, w, h int) []string {
	t := m.theme
	text := widget.Wrap(widget.Clean(f.err.Error()), w)
	if hint := m.hint(f.err, w); hint != nil {
		text = append(append(text, ""), hint...)
	}
	if f.output != "" {
		text = append(text, "", t.Dim.Render("the last it said:"))
		for _, line := range widget.Wrap(widget.Clean(f.output), w) {
			text = append(text, t.Dim.Render(line))
		}
	}
	room := max(1, h-2)
	f.top = max(0, min(f.top, len(text)-room))
	out := append([]string{}, text[f.top:min(len(text), f.top+room)]...)
	what := "error"
	if fault.HintOf(f.err) != "" {
		what = "hint"
	}
	keys := t.Key.Render("esc") + " close   " + t.Key.Render("c") + " copy the " + what
	if len(text) > room {
		keys += "   " + t.Key.Render("↑↓") + " scroll"
	}
	return append(out, "", keys)
}
