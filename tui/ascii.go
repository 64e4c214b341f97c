package tui

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// plain is what stands for each glyph on a terminal without Unicode, one cell for one cell.
var plain = map[rune]rune{
	'●': '*', '○': 'o', '◦': '~', '◌': '.', '✓': 'v', '✗': 'x', '▸': '>',
	'↑': '^', '↓': 'v', '→': '>', '←': '<', '↩': '<',
	'·': '.', '…': '~', '–': '-', '×': 'x',
	'┌': '+', '┐': '+', '└': '+', '┘': '+', '─': '-', '│': '|',
	'━': '#', '╾': '=',
	'▁': '_', '▂': '_', '▃': '.', '▄': '-', '▅': '=', '▆': '+', '▇': '#', '█': '#',
}

// toASCII rewrites a frame for a terminal without Unicode. What has no stand-in becomes as many question marks as it
// has cells.
func toASCII(frame string) string {
	var b strings.Builder
	for len(frame) > 0 {
		r, n := utf8.DecodeRuneInString(frame)
		switch p, ok := plain[r]; {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case ok:
			b.WriteRune(p)
		default: // what is drawn as one has the cells of one
			var w int
			_, w, n, _ = ansi.DecodeSequence(frame, ansi.NormalState, nil)
			b.WriteString(strings.Repeat("?", w))
		}
		frame = frame[n:]
	}
	return b.String()
}

// utf8Locale tells whether the environment says that the terminal takes UTF-8. One that says nothing is taken to.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
