package widget

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// maxTyped is the longest text of a Line, in runes, since each key searches for it.
const maxTyped = 100

// Line is a text that is being typed.
type Line struct{ Text string }

// Key edits the line and reports whether it was changed.
func (l *Line) Key(k tea.KeyPressMsg) bool {
	before := l.Text
	switch k.String() {
	case "backspace":
		if r := []rune(l.Text); len(r) > 0 {
			l.Text = string(r[:len(r)-1])
		}
	case "ctrl+u":
		l.Text = ""
	default:
		l.Add(k.Text)
	}
	return l.Text != before
}

// Add appends a text, on one line; what is longer than anybody types is cut.
func (l *Line) Add(text string) { l.Text = cut(l.Text + strings.ReplaceAll(text, "\n", "")) }

func cut(text string) string {
	all := []rune(text)
	return string(all[:min(len(all), maxTyped)])
}

// Pasted prepares a pasted text for a Line or a Dialog. It keeps only the beginning of a long text.
func Pasted(text string) string {
	return cut(strings.ReplaceAll(Clean(text[:min(len(text), 4*maxTyped)]), "\n", ""))
}
