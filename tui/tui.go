// Package tui is the dashboard: hermes-box typed alone in a terminal.
//
// There is one Tea model; the views are plain structs in it. Nothing in it waits: what takes time is a command with a
// context and a bound, and leaving ends them all. One table of bindings feeds the footer, the list of keys, the palette
// and the README. Every state is glyph, word and colour.
package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// Options are what the command line and the environment say of how it looks.
type Options struct {
	In     *os.File
	Out    *os.File
	Errors io.Writer              // what is told once the dashboard is gone
	Color  string                 // auto, always or never
	Theme  string                 // one of widget.Themes; empty: the first
	ASCII  bool                   // nothing but ASCII
	Label  string                 // said beside the name of the box everywhere: "demo"
	Create bool                   // begin at once to make the box, where there is none
	Browse func(url string) error // shows an address in a browser; nil: there is none here
	// SignIn runs the walkthrough of signing in on this terminal, or the one step that is named, and returns when it has
	// ended: with a *exec.ExitError where it has told itself what is wrong. nil: there is none.
	SignIn func(ctx context.Context, step string) error
	// Typed is a text for people with the commands in it as they are to be typed here; nil: as they are.
	Typed func(string) string
}

// leaveBound is how long leaving waits for what is under way to be gone. A child that does not end by then goes with
// the process.
const leaveBound = 150 * time.Millisecond

// Run shows the dashboard until the person leaves or the context ends. An operation that is then under way is canceled
// and undone before it returns, and the lines of that are written to Errors.
func Run(ctx context.Context, b Box, o Options) error {
	m := newModel(ctx, b)
	m.theme, m.label = widget.NewTheme(o.Theme), o.Label
	m.ascii, m.create = o.ASCII || !widget.UTF8Locale(os.Getenv), o.Create
	m.browse, m.login = o.Browse, o.SignIn
	if o.Typed != nil {
		m.typed = o.Typed
	}
	if w, h, err := term.GetSize(o.Out.Fd()); err == nil {
		m.w, m.h = w, h // so that the first frame is whole
	}
	options := []tea.ProgramOption{tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler(),
		tea.WithFPS(widget.FramesPerSecond)}
	switch o.Color {
	case "never":
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	case "always":
		options = append(options, tea.WithColorProfile(max(colorprofile.ANSI, colorprofile.Env(withoutNoColor(os.Environ())))))
	}
	p := tea.NewProgram(m, options...)
	m.frames = widget.Pace(p)
	// A context of the program itself would end it at once: it would not take back all that it has asked the terminal for.
	defer context.AfterFunc(ctx, p.Quit)()
	_, err := p.Run()
	m.stop()
	undone := m.undone(o.Errors)
	m.tasks.wait(leaveBound)
	m.tellUnread(o.Errors)
	switch {
	case undone != nil:
		return undone
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "the dashboard was ended by a signal")
	}
	return err
}

// tellUnread leaves an error that was still on the screen in the terminal, as a command would.
func (m *model) tellUnread(out io.Writer) {
	f := m.failure
	if m.op != nil && m.op.ended && m.op.ending() == "failed" && !m.op.watched && m.view == onOperation {
		f = m.lastFailure
	}
	if f == nil || m.op != nil && m.op.left { // the outcome is told as that of the dashboard
		return
	}
	fmt.Fprintf(out, "hermes-box: %s\n", widget.Clean(f.err.Error()))
	if hint := fault.HintOf(f.err); hint != "" {
		fmt.Fprintf(out, "hint: %s\n", m.typed(widget.Clean(hint)))
	}
}

// undone waits for an operation to undo itself, and tells so. It gives the outcome, which is an error unless the
// operation came to its end meanwhile.
func (m *model) undone(out io.Writer) error {
	o := m.op
	switch {
	case m.running():
	case o != nil && o.left: // it was quicker than leaving
		return o.err
	default:
		return nil
	}
	fmt.Fprintf(out, "%s is being canceled safely; ctrl-c stops at once\n", o.verb.id)
	o.feed.divert(func(e ops.Event) {
		switch e.Kind {
		case ops.Undone:
			fmt.Fprintln(out, strings.TrimSpace("undone: "+e.Title+" "+widget.Clean(e.Error)))
		case ops.Warning:
			fmt.Fprintln(out, "! "+widget.Clean(e.Line))
		}
	})
	<-o.done
	return o.outcomeErr
}

func withoutNoColor(env []string) (out []string) {
	for _, kv := range env {
		if len(kv) < 9 || kv[:9] != "NO_COLOR=" {
			out = append(out, kv)
		}
	}
	return out
}
