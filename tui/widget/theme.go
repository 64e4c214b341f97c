// Package widget draws the parts that views of the dashboard are made of: text fitted into cells, panels, gauges,
// lists, dialogs, colours. Nothing in it depends on boxes.
package widget

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Ink is a style: the sequences to write before and after a text.
type Ink struct{ on, off string }

func newInk(s lipgloss.Style) Ink {
	on, off, _ := strings.Cut(s.Render("x"), "x")
	return Ink{on, off}
}

// Render returns a text in that style.
func (i Ink) Render(s string) string { return i.on + s + i.off }

// Theme holds all styles, named by their meaning. No other code names a colour.
type Theme struct {
	Title  Ink // names of panels, the name of the box
	Dim    Ink // secondary text
	Border Ink
	Focus  Ink // border of the panel that the keys act on
	Key    Ink // a key that can be pressed
	Accent Ink // the selection
	Good   Ink
	Warn   Ink
	Bad    Ink
	Info   Ink // work in progress
	Match  Ink // the search result that was jumped to
}

// Themes are the values of HERMES_BOX_THEME; the first is the default.
var Themes = []string{"ansi", "dark", "light"}

// palette holds the colours of a theme.
type palette struct{ dim, border, accent, good, warn, bad, info string }

var palettes = map[string]palette{
	"ansi":  {accent: "6", good: "2", warn: "3", bad: "1", info: "4"}, // and faint text
	"dark":  {"#8a8f98", "#4a4f58", "#7dcfff", "#9ece6a", "#e0af68", "#f7768e", "#7aa2f7"},
	"light": {"#5c626b", "#b4b8bf", "#00677f", "#2f6b14", "#7a5200", "#b3123f", "#1f4fb8"},
}

// NewTheme returns the theme of that name, or the default. "ansi" uses the terminal's own sixteen colours, so it suits
// any background; the other two are for terminals whose sixteen colours are hard to read.
func NewTheme(name string) Theme {
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
	return Theme{
		Title: newInk(lipgloss.NewStyle().Bold(true)), Dim: newInk(style(p.dim)), Border: newInk(style(p.border)),
		Focus: newInk(style(p.accent)), Key: newInk(style(p.accent).Bold(true)), Accent: newInk(style(p.accent).Bold(true)),
		Good: newInk(style(p.good)), Warn: newInk(style(p.warn)), Bad: newInk(style(p.bad)), Info: newInk(style(p.info)),
		Match: newInk(lipgloss.NewStyle().Reverse(true)),
	}
}

// Focused returns the theme for drawing the panel that the keys act on.
func (t Theme) Focused() Theme {
	t.Border = t.Focus
	return t
}

// Tone says how good or bad a state is. It selects the colour.
type Tone int

// The tones.
const (
	Quiet Tone = iota
	Good
	AtWork
	Warn
	Bad
)

// Sign shows a state as a glyph and a word with the same meaning, so that the colour is not needed.
type Sign struct {
	Glyph, Word string
	Tone        Tone
}

func (s Sign) String() string { return s.Glyph + " " + s.Word }

// Sign returns a sign in the colour of its tone.
func (t Theme) Sign(s Sign) string {
	ink := map[Tone]Ink{Quiet: t.Dim, Good: t.Good, AtWork: t.Info, Warn: t.Warn, Bad: t.Bad}[s.Tone]
	return ink.Render(s.String())
}
