package widget

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// Dialog asks before something is done. Its default answer is no.
type Dialog struct {
	Title, Text string
	Yes, No     string // the labels of the two answers
	chosen      bool   // yes is selected
	input       *textinput.Model
	want        string // what has to be typed
	wrong       string // what is wrong with what was typed
}

// Answer is the answer to a dialog.
type Answer int

// The answers.
const (
	Open Answer = iota // none yet
	Agreed
	Refused
)

// TypeName makes d a dialog whose yes is typing this name.
func (d *Dialog) TypeName(name string) {
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 64
	styles := in.Styles()
	styles.Cursor.Blink = false
	in.SetStyles(styles)
	in.Focus()
	d.input, d.want = &in, name
}

// Typed reports whether the dialog is answered by typing a name.
func (d *Dialog) Typed() bool { return d.input != nil }

// Key handles a key and returns the answer, if it gives one.
func (d *Dialog) Key(k tea.KeyPressMsg) (Answer, tea.Cmd) {
	name := k.String()
	if name == "esc" || name == "ctrl+c" {
		return Refused, nil
	}
	if d.input != nil {
		if name != "enter" {
			return Open, d.edit(k)
		}
		switch d.input.Value() {
		case d.want:
			return Agreed, nil
		case "":
			d.wrong = "type " + d.want
		default:
			d.wrong = "that is not the name; type " + d.want
		}
		return Open, nil
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

// Paste adds a text to the name that is being typed.
func (d *Dialog) Paste(text string) tea.Cmd {
	if d.input == nil {
		return nil
	}
	return d.edit(tea.PasteMsg{Content: text})
}

func (d *Dialog) edit(msg tea.Msg) tea.Cmd {
	d.wrong = ""
	in, cmd := d.input.Update(msg)
	d.input = &in
	return cmd
}

// View draws the inside of the dialog: w cells, at most h lines. If there is little room it cuts the text, never the
// answers.
func (d *Dialog) View(t Theme, w, h int) []string {
	answers := append([]string{""}, d.answers(t, w)...)
	text := Wrap(Clean(d.Text), w)
	return append(text[:max(0, min(len(text), h-len(answers)))], answers...)
}

func (d *Dialog) answers(t Theme, w int) []string {
	if d.input != nil {
		wrong := ""
		if d.wrong != "" {
			wrong = t.Warn.Render("! " + d.wrong)
		}
		d.input.SetWidth(max(1, w-4))
		return []string{t.Accent.Render("> ") + d.input.View(), wrong,
			t.Key.Render("enter") + " " + d.Yes + "   " + t.Key.Render("esc") + " " + d.No}
	}
	yes, no := "  y "+d.Yes, t.Accent.Render("▸ n "+d.No)
	if d.chosen {
		yes, no = t.Accent.Render("▸ y "+d.Yes), "  n "+d.No
	}
	return []string{no + "   " + yes}
}
