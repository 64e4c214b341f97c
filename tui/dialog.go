package tui

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// dialog asks before something is done. Its default answer is no; one with a name to type is answered by nothing else.
type dialog struct {
	title, text string
	yes         func(m *model) tea.Cmd
	yesLabel    string
	no          string
	chosen      bool // yes is marked
	input       *textinput.Model
	want        string // what has to be typed
	wrong       string // what is said of what was typed instead

	aboutOperation bool // it has nothing to ask any more as the operation ends
}

// confirm is a question that y answers.
func (m *model) confirm(title, text string) *dialog {
	return &dialog{title: title, text: text, yesLabel: "yes", no: "no"}
}

// byName is the question that only the name of the box answers.
func (m *model) byName() *dialog {
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 64
	styles := in.Styles()
	styles.Cursor.Blink = false
	in.SetStyles(styles)
	in.Focus()
	text := "Lost: the VM and the data disk with everything in it: work, logins, the agents' memory.\n" +
		"Kept: " + m.known.Config + ", the lock, downloaded software, logs.\n" +
		"There is no verified backup of it.\n\nType the name of the box to destroy it."
	return &dialog{title: "Destroy " + m.name(), text: text, yesLabel: "destroy", no: "keep it", input: &in, want: m.name()}
}

func (d *dialog) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "esc" || name == "ctrl+c" {
		m.dialog = nil
		return nil
	}
	if d.input != nil {
		if name == "enter" {
			switch v := d.input.Value(); v {
			case d.want:
				return d.agree(m)
			case "":
				d.wrong = "the name is " + d.want
			default:
				d.wrong = "that is not its name: it is called " + d.want
			}
			return nil
		}
		return d.edit(k)
	}
	switch name {
	case "y", "Y":
		return d.agree(m)
	case "n", "N", "q":
		m.dialog = nil
	case "left", "right", "tab", "shift+tab", "h", "l":
		d.chosen = !d.chosen
	case "enter":
		if d.chosen {
			return d.agree(m)
		}
		m.dialog = nil
	}
	return nil
}

// edit is a key or a paste into what is typed.
func (d *dialog) edit(msg tea.Msg) tea.Cmd {
	d.wrong = ""
	in, cmd := d.input.Update(msg)
	d.input = &in
	return cmd
}

func (d *dialog) agree(m *model) tea.Cmd {
	m.dialog = nil
	return d.yes(m)
}

// view is the inside of the dialog: w cells, at most h lines. What is to be answered is never what has no room.
func (d *dialog) view(t theme, w, h int) []string {
	answer := append([]string{""}, d.answer(t, w)...)
	text := wrapped(clean(d.text), w)
	return append(text[:max(0, min(len(text), h-len(answer)))], answer...)
}

// answer is where the answer is given.
func (d *dialog) answer(t theme, w int) []string {
	if d.input != nil {
		wrong := ""
		if d.wrong != "" {
			wrong = t.warn.Render("! " + d.wrong)
		}
		d.input.SetWidth(max(1, w-4))
		return []string{t.accent.Render("> ") + d.input.View(), wrong,
			t.key.Render("enter") + " " + d.yesLabel + "   " + t.key.Render("esc") + " " + d.no}
	}
	yes, no := "  y "+d.yesLabel, t.accent.Render("▸ n "+d.no)
	if d.chosen {
		yes, no = t.accent.Render("▸ y "+d.yesLabel), "  n "+d.no
	}
	return []string{no + "   " + yes}
}
