package widget

import (
	"cmp"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Dialog asks before something is done. Without fields, its default answer is no.
type Dialog struct {
	Title, Text string
	Yes, No     string // the labels of the two answers
	chosen      bool   // yes is selected
	danger      bool   // a name has to be typed, because something is destroyed
	fields      []field
	Effect      func() string // the effect of the texts in the fields, shown below them; nil: nothing
	at          int           // the field that keys go to
	wrong, hint string        // what is wrong with what was typed, and what to do; empty: nothing
}

// Field is a text that a dialog asks for.
type Field struct {
	Name    string                   // beside the text; empty if there is only one field
	Text    string                   // what it begins with
	Default string                   // the text to use if nothing is typed; shown in the empty field
	Secret  bool                     // what is typed is not shown
	Check   func(text string) string // returns what is wrong with a text, or "" if the text is accepted; nil accepts any
}

type field struct {
	Field
	input textinput.Model
}

// wrong returns what is wrong with the text of the field; empty if nothing is.
func (f *field) wrong() string {
	if f.Check == nil {
		return ""
	}
	return f.Check(f.value())
}

func (f *field) value() string { return cmp.Or(f.input.Value(), f.Default) }

// Answer is the answer to a dialog.
type Answer int

// The answers.
const (
	Open Answer = iota // none yet
	Agreed
	Refused
)

// TypeName makes d a dialog that the user agrees to by typing this name.
func (d *Dialog) TypeName(name string) {
	d.danger = true
	d.Ask(Field{Check: func(text string) string {
		switch text {
		case name:
			return ""
		case "":
			return "type " + name
		}
		return "that is not the name; type " + name
	}})
}

// Ask makes d a dialog that is answered with texts. Value returns them.
func (d *Dialog) Ask(fields ...Field) {
	for _, f := range fields {
		in := textinput.New()
		in.Prompt = ""
		in.CharLimit = maxPasted
		styles := in.Styles()
		styles.Cursor.Blink = false
		faint := lipgloss.NewStyle().Faint(true)
		styles.Focused.Placeholder, styles.Blurred.Placeholder = faint, faint
		in.SetStyles(styles)
		in.Placeholder = f.Default
		if f.Secret {
			in.EchoMode = textinput.EchoPassword
		}
		in.SetValue(f.Text)
		in.CursorEnd()
		d.fields = append(d.fields, field{f, in})
	}
	d.focus(0)
}

// focus makes keys go to a field.
func (d *Dialog) focus(i int) {
	d.fields[d.at].input.Blur()
	d.at = i
	d.fields[i].input.Focus()
}

// Value returns the text of a field, counted from 0.
func (d *Dialog) Value(i int) string { return d.fields[i].value() }

// Refuse shows below the fields what is wrong with their texts and, unless it is empty, what to do. Both stay until the
// next key in a field.
func (d *Dialog) Refuse(wrong, hint string) { d.wrong, d.hint = wrong, hint }

// Destroys reports whether the dialog asks for a name, because something is destroyed.
func (d *Dialog) Destroys() bool { return d.danger }

// Key handles a key and returns the answer, or Open if there is none yet.
func (d *Dialog) Key(k tea.KeyPressMsg) (Answer, tea.Cmd) {
	name := k.String()
	if name == "esc" || name == "ctrl+c" {
		return Refused, nil
	}
	if len(d.fields) > 0 {
		return d.typed(k)
	}
	switch name {
	case "y", "Y":
		return Agreed, nil
	case "n", "N", "q":
		return Refused, nil
	case "left", "right", "tab", "shift+tab", "h", "l":
		d.chosen = !d.chosen
	case "enter":
		if d.chosen {
			return Agreed, nil
		}
		return Refused, nil
	}
	return Open, nil
}

// typed handles a key while texts are typed. Enter in the last field agrees, if nothing is wrong.
func (d *Dialog) typed(k tea.KeyPressMsg) (Answer, tea.Cmd) {
	n := len(d.fields)
	switch name := k.String(); {
	case name == "enter":
		for i := range d.fields[:d.at+1] {
			if wrong := d.fields[i].wrong(); wrong != "" {
				d.focus(i)
				d.Refuse(wrong, "")
				return Open, nil
			}
		}
		if d.at == n-1 {
			return Agreed, nil
		}
		d.focus(d.at + 1)
	case n > 1 && (name == "tab" || name == "down"):
		d.focus((d.at + 1) % n)
	case n > 1 && (name == "shift+tab" || name == "up"):
		d.focus((d.at + n - 1) % n)
	default:
		return Open, d.edit(k)
	}
	return Open, nil
}

// Paste adds a text to the one that is being typed.
func (d *Dialog) Paste(text string) tea.Cmd {
	if len(d.fields) == 0 {
		return nil
	}
	return d.edit(tea.PasteMsg{Content: text})
}

func (d *Dialog) edit(msg tea.Msg) (cmd tea.Cmd) {
	d.Refuse("", "")
	in := &d.fields[d.at].input
	*in, cmd = in.Update(msg)
	return cmd
}

// View draws the inside of the dialog, w cells wide. If h lines are too few, it cuts the text, but never the fields and
// buttons.
func (d *Dialog) View(t Theme, w, h int) []string {
	answers := append([]string{""}, d.answers(t, w)...)
	text := Wrap(Clean(d.Text), w)
	return append(text[:max(0, min(len(text), h-len(answers)))], answers...)
}

func (d *Dialog) answers(t Theme, w int) []string {
	if len(d.fields) > 0 {
		return append(append(d.texts(t, w), d.trouble(t, w)...), d.keys(t))
	}
	yes, no := "  y "+d.Yes, t.Accent.Render("▸ n "+d.No)
	if d.chosen {
		yes, no = t.Accent.Render("▸ y "+d.Yes), "  n "+d.No
	}
	return []string{no + "   " + yes}
}

// texts draws the fields, one a line.
func (d *Dialog) texts(t Theme, w int) (out []string) {
	names := 0
	for i := range d.fields {
		if n := ansi.StringWidth(d.fields[i].Name); n > 0 {
			names = max(names, n+2)
		}
	}
	for i := range d.fields {
		f, mark, name := &d.fields[i], "  ", Fit(d.fields[i].Name, names)
		if i == d.at {
			mark, name = t.Accent.Render("> "), t.Title.Render(name)
		}
		f.input.SetWidth(max(1, w-names-4))
		f.input.SetCursor(f.input.Position()) // moves the window of a long text
		out = append(out, mark+name+f.input.View())
	}
	return out
}

// trouble draws what the texts lead to, and what is wrong, or an empty line.
func (d *Dialog) trouble(t Theme, w int) (out []string) {
	const mostEffect, most, mostHint = 3, 4, 6 // lines
	if d.Effect != nil {
		lines := Wrap(Clean(d.Effect()), w-2)
		for _, line := range lines[:min(len(lines), mostEffect)] {
			out = append(out, t.Dim.Render("  "+line))
		}
	}
	for i, line := range Wrap(Clean(d.wrong), w-2) {
		mark := "  "
		if i == 0 && d.wrong != "" {
			mark = "! "
		}
		if i < most {
			out = append(out, t.Warn.Render(mark+line))
		}
	}
	if d.hint == "" {
		return out
	}
	for i, line := range Wrap("hint: "+Clean(d.hint), w-2) {
		if i < mostHint {
			out = append(out, t.Dim.Render("  "+line))
		}
	}
	return out
}

// keys draws what the keys do while texts are typed.
func (d *Dialog) keys(t Theme) string {
	enter := d.Yes
	if d.at < len(d.fields)-1 {
		enter = "next"
	}
	line := t.Key.Render("enter") + " " + enter
	if len(d.fields) > 1 {
		line += "   " + t.Key.Render("tab") + " other field"
	}
	return line + "   " + t.Key.Render("esc") + " " + d.No
}
