package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"hermes-box/tui/widget"
)

// errLeft is returned when the user leaves a form by esc, ctrl-c or the end of the input.
var errLeft = errors.New("left")

// accessible reports whether questions are asked in plain lines: for screen readers, and for terminals that cannot move the
// cursor.
func accessible() bool { return os.Getenv("ACCESSIBLE") != "" || os.Getenv("TERM") == "dumb" }

// ask asks one question on the terminal. In accessible mode only the title and the options are read out, so the caller
// has to print any explanation.
func (a *app) ask(ctx context.Context, out *output, question huh.Field) error {
	a.screen.clear()
	keys := huh.NewDefaultKeyMap()
	keys.Quit = key.NewBinding(key.WithKeys("ctrl+c", "esc"))
	// The lists are short and are not filtered: in the help, esc takes the place of the filter's key.
	keys.Select.Filter = key.NewBinding(key.WithKeys("esc"), key.WithHelp("esc", "back"))
	keys.Select.Submit.SetHelp("enter", "choose")
	keys.Input.Submit.SetHelp("enter", "done • esc back")
	form := huh.NewForm(huh.NewGroup(question)).WithOutput(out).WithKeyMap(keys)
	if accessible() {
		return a.askInLines(ctx, form, question)
	}
	// Whether the form is left or answered, the program quits in the same way: it erases the form and reads no key
	// that is meant for the next form.
	form.SubmitCmd, form.CancelCmd = tea.Quit, tea.Quit
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(a.stdin), tea.WithOutput(out.Writer), tea.WithoutSignalHandler(), // signals cancel ctx
		tea.WithFilter(dropSizeRequest)}
	if !a.colored(out) {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	_, err := tea.NewProgram(&formModel{Form: form.WithTheme(huh.ThemeFunc(theme)), question: question, ascii: out.ascii}, options...).Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && form.State != huh.StateCompleted:
		return errLeft
	}
	return err
}

// dropSizeRequest drops a form's request for the size of the window. Bubble Tea sends the size anyway, and answering the
// request races with a resize of the window.
func dropSizeRequest(_ tea.Model, msg tea.Msg) tea.Msg {
	if msg == tea.RequestWindowSize() {
		return nil
	}
	return msg
}

// formModel is a Bubble Tea model: a form of one question, in a panel like those of the dashboard.
type formModel struct {
	*huh.Form
	question huh.Field
	ascii    bool
	w, h     int
}

// A panel takes more cells of the window than its text: panelSides columns, for an edge and a blank on each side, and
// panelEdges lines, for the two edges and the keys.
const panelSides, panelEdges = 4, 3

func (f *formModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		f.w, f.h = size.Width, size.Height
		f.question.WithHeight(0) // otherwise it would stay small when the window grows again
		msg = tea.WindowSizeMsg{Width: max(1, f.w-panelSides), Height: max(1, f.h-panelEdges)}
	}
	_, cmd := f.Form.Update(msg)
	return f, cmd
}

func (f *formModel) View() tea.View {
	text := f.Form.View()
	if text != "" && f.w > 0 { // empty: the form is done, and is erased
		text = f.panel(text)
	}
	if f.ascii {
		text = widget.ToASCII(text)
	}
	return tea.NewView(text)
}

// panel draws a frame around a form. The last line of the form, its keys, is below the frame.
func (f *formModel) panel(text string) string {
	lines := strings.Split(text, "\n")
	keys := lines[len(lines)-1]
	body := lines[:len(lines)-1]
	for len(body) > 0 && strings.TrimSpace(ansi.Strip(body[len(body)-1])) == "" {
		body = body[:len(body)-1]
	}
	t := widget.NewTheme("")
	out := t.Focused().Panel(t.Title.Render("sign in"), f.w, min(len(body)+2, max(1, f.h-1)), body)
	return strings.Join(append(out, ansi.Truncate(keys, f.w, "")), "\n")
}

// askInLines asks the question in plain lines.
func (a *app) askInLines(ctx context.Context, form *huh.Form, question huh.Field) error {
	in := &endReader{Reader: a.stdin}
	form.WithAccessible(true).WithTheme(huh.ThemeFunc(huh.ThemeBase)).WithInput(in)
	show := func() {}
	if secret, ok := question.(*huh.Input); ok { // the other questions are lists; only the token is typed
		// The form must not turn off the echo itself: at its end it would change the terminal after that was restored.
		show = hideInput(in.fd())
		secret.EchoMode(huh.EchoModeNormal)
	}
	defer show()
	done := make(chan error, 1)
	go func() { done <- form.Run() }()
	select {
	case err := <-done:
		if err == nil && in.ended {
			err = errLeft
		}
		return err
	case <-ctx.Done(): // a read from a terminal cannot be canceled: it lasts until the process ends
		return ctx.Err()
	}
}

// wrapped breaks lines for the width of a form on a terminal.
func wrapped(text string, out io.Writer) string {
	width := 80
	if f, ok := out.(interface{ Fd() uintptr }); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			width = min(w, width)
		}
	}
	return lipgloss.Wrap(text, max(width-4, 1), "")
}

// endReader records that its Reader has ended, because forms take the end of the input for an empty answer.
type endReader struct {
	io.Reader
	ended bool
}

func (w *endReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.ended = w.ended || err == io.EOF
	return n, err
}

func (w *endReader) fd() int {
	if f, ok := w.Reader.(interface{ Fd() uintptr }); ok {
		return int(f.Fd())
	}
	return -1
}

// theme uses the terminal's own sixteen colours, and its default foreground for longer texts.
func theme(dark bool) *huh.Styles {
	s := huh.ThemeBase(dark)
	f := &s.Focused
	f.Base = lipgloss.NewStyle() // it is in a panel
	f.Title = f.Title.Bold(true)
	f.SelectSelector = f.SelectSelector.Foreground(lipgloss.Cyan).SetString("▸ ")
	f.SelectedOption = f.SelectedOption.Bold(true)
	f.ErrorMessage = f.ErrorMessage.Foreground(lipgloss.Red)
	f.ErrorIndicator = f.ErrorIndicator.Foreground(lipgloss.Red)
	s.Blurred = s.Focused
	s.Help.ShortKey = s.Help.ShortKey.UnsetForeground().Foreground(lipgloss.Cyan).Bold(true)
	s.Help.ShortDesc = s.Help.ShortDesc.UnsetForeground()
	s.Help.ShortSeparator = s.Help.ShortSeparator.UnsetForeground().Foreground(lipgloss.BrightBlack)
	return s
}
