package widget

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// plain maps each glyph to its substitute on a terminal without Unicode. Both are one cell wide.
var plain = map[rune]rune{
	'●': '*', '○': 'o', '◦': '~', '◌': '.', '✓': 'v', '✗': 'x', '▸': '>',
	'↑': '^', '↓': 'v', '→': '>', '←': '<', '↩': '<',
	'·': '.', '•': '.', '…': '~', '–': '-', '×': 'x',
	'┌': '+', '┐': '+', '└': '+', '┘': '+', '─': '-', '│': '|', '┃': '|',
	'━': '#', '╾': '=',
	'▁': '_', '▂': '_', '▃': '.', '▄': '-', '▅': '=', '▆': '+', '▇': '#', '█': '#',
}

// ToASCII rewrites a text for a terminal without Unicode. A character without a substitute becomes as many question
// marks as it has cells.
func ToASCII(frame string) string {
	var b strings.Builder
	for len(frame) > 0 {
		r, n := utf8.DecodeRuneInString(frame)
		switch p, ok := plain[r]; {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case ok:
			b.WriteRune(p)
		default: // the characters of one glyph are replaced together
			var w int
			_, w, n, _ = ansi.DecodeSequence(frame, ansi.NormalState, nil)
			b.WriteString(strings.Repeat("?", w))
		}
		frame = frame[n:]
	}
	return b.String()
}

// UTF8Locale reports whether the terminal shows UTF-8, according to the environment. Without a locale it returns true.
func UTF8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
