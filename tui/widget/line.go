package widget

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// maxTyped is the longest text of a Line, in runes, since each key starts a search for the text. maxPasted is the longest
// text of a field of a Dialog: a path may be long.
const maxTyped, maxPasted = 100, 4096

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

// Add appends a text without its line ends, and cuts the line after maxTyped runes.
func (l *Line) Add(text string) { l.Text = cut(l.Text+strings.ReplaceAll(text, "\n", ""), maxTyped) }

func cut(text string, most int) string {
	all := []rune(text)
	return string(all[:min(len(all), most)])
}

// Pasted prepares a pasted text for a Line or a Dialog. It keeps only the beginning of a long text.
func Pasted(text string) string {
	return cut(strings.ReplaceAll(Clean(text[:min(len(text), 4*maxPasted)]), "\n", ""), maxPasted)
}
