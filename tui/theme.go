package tui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"hermes-box/ops"
)

// ink is a style made ready: what goes before a text and what after it.
type ink struct{ on, off string }

// newInk takes from a style what it puts around a text.
func newInk(s lipgloss.Style) ink {
	on, off, _ := strings.Cut(s.Render("x"), "x")
	return ink{on, off}
}

// Render is a text in that style.
func (i ink) Render(s string) string { return i.on + s + i.off }

// theme is every style there is, by what it means. Nothing else names a colour.
type theme struct {
	title  ink // names of panels, the name of the box
	dim    ink // what is there to be found, not to be seen
	border ink
	key    ink // a key that can be pressed
	accent ink // what is selected
	good   ink
	warn   ink
	bad    ink
	info   ink // at work
	match  ink // found text
}

// Themes are the names that HERMES_BOX_THEME takes; the first is the default.
var Themes = []string{"ansi", "dark", "light"}

// palette is the colours of a theme.
type palette struct{ dim, border, accent, good, warn, bad, info string }

var palettes = map[string]palette{
	"ansi":  {accent: "6", good: "2", warn: "3", bad: "1", info: "4"}, // and faint text
	"dark":  {"#8a8f98", "#4a4f58", "#7dcfff", "#9ece6a", "#e0af68", "#f7768e", "#7aa2f7"},
	"light": {"#5c626b", "#b4b8bf", "#00677f", "#2f6b14", "#7a5200", "#b3123f", "#1f4fb8"},
}

// newTheme is the theme of that name. "ansi" has the terminal's own sixteen colours, so that it suits whatever
// background the person has chosen; the two others are for terminals whose sixteen colours are ill chosen.
func newTheme(name string) theme {
	p, ok := palettes[name]
	if !ok {
		p = palettes[Themes[0]]
	}
	style := func(color string) lipgloss.Style {
		if color == "" {
			return lipgloss.NewStyle().Faint(true)
		}
		return lipgloss.NewStyle().Foreground(lipgloss.Color(color))
	}
	return theme{
		title: newInk(lipgloss.NewStyle().Bold(true)), dim: newInk(style(p.dim)), border: newInk(style(p.border)),
		key: newInk(style(p.accent).Bold(true)), accent: newInk(style(p.accent).Bold(true)),
		good: newInk(style(p.good)), warn: newInk(style(p.warn)), bad: newInk(style(p.bad)), info: newInk(style(p.info)),
		match: newInk(lipgloss.NewStyle().Reverse(true)),
	}
}

// sign is a sign in its colour.
func (t theme) sign(s Sign) string {
	ink := map[Tone]ink{Quiet: t.dim, Good: t.good, AtWork: t.info, Warn: t.warn, Bad: t.bad}[s.Tone]
	return ink.Render(s.String())
}

// state is the sign of a state of a box or of a component.
func (t theme) state(word string) string { return t.sign(SignOf(word)) }

// verdict is the sign of a check's outcome.
func (t theme) verdict(v ops.Verdict) string { return t.sign(SignOfVerdict(v)) }
