// Package tui is the dashboard, which hermes-box shows when it is run without arguments in a terminal.
//
// There is one Tea model; its views are plain structs. Update never waits: slow work runs in commands, whose contexts
// end with the dashboard. The footer, the list of keys, the palette and the README are made from one table of bindings.
// Every state is shown by a glyph, a word and a colour.
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

// Options holds the settings from the command line and the environment.
type Options struct {
	In     *os.File
	Out    *os.File
	Errors io.Writer              // written to after the dashboard has ended
	Color  string                 // auto, always or never
	Theme  string                 // one of widget.Themes; empty: the first
	ASCII  bool                   // draw in ASCII only
	Label  string                 // shown beside the name of the box: "demo"
	Browse func(url string) error // opens an address in a browser; nil if there is none
	// SignIn runs the sign-in, or the step with that name, on this terminal. If it has shown its error itself, it
	// returns an *exec.ExitError. If SignIn is nil, there is no sign-in.
	SignIn func(ctx context.Context, step string) error
	// Typed rewrites the commands in a text so that they can be pasted here; nil if they can be pasted unchanged.
	Typed func(string) string
}

// leaveBound is how long quitting waits for running work. A child process that runs longer is killed when this process
// ends.
const leaveBound = 150 * time.Millisecond

// Run shows the dashboard until the user quits or the context ends. An operation that is still under way is canceled
// and undone before Run returns, and Run reports that on Errors.
func Run(ctx context.Context, b Box, o Options) error {
	m := newModel(ctx, b)
	m.theme, m.label = widget.NewTheme(o.Theme), o.Label
	m.ascii = o.ASCII || !widget.UTF8Locale(os.Getenv)
	m.browse, m.signer = o.Browse, o.SignIn
	if o.Typed != nil {
		m.typed = o.Typed
	}
	if w, h, err := term.GetSize(o.Out.Fd()); err == nil {
		m.w, m.h = w, h // so that the first frame is complete
	}
	p := tea.NewProgram(m, o.program()...)
	m.frames = widget.Pace(p)
	// With the context as an option, the program would end without restoring the terminal.
	defer context.AfterFunc(ctx, p.Quit)()
	_, err := p.Run()
	m.stop()
	undone := m.waitUndone(o.Errors)
	m.tasks.wait(leaveBound)
	m.reportUnread(o.Errors)
	switch {
	case undone != nil:
		return undone
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "the dashboard was ended by a signal")
	}
	return err
}

func (o Options) program() []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler(),
		tea.WithFPS(widget.FramesPerSecond)}
	switch o.Color {
	case "never":
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	case "always":
		options = append(options, tea.WithColorProfile(max(colorprofile.ANSI, colorprofile.Env(withoutNoColor(os.Environ())))))
	}
	return options
}

// reportUnread prints an error that was still on the screen, in the form in which commands print errors.
func (m *model) reportUnread(out io.Writer) {
	f := m.failure
	if m.op != nil && m.op.ended && m.op.ending() == "failed" && !m.op.watched && m.view == onOperation {
		f = m.lastFailure
	}
	if f == nil || m.op != nil && m.op.left { // Run returns the outcome as its error
		return
	}
	fmt.Fprintf(out, "hermes-box: %s\n", widget.Clean(f.err.Error()))
	if hint := fault.HintOf(f.err); hint != "" {
		fmt.Fprintf(out, "hint: %s\n", m.typed(widget.Clean(hint)))
	}
}

// waitUndone waits for an operation to be undone. It prints the steps that are undone, those that are not, and the
// warnings. It returns the outcome of the operation, which is nil if it was done before it could be canceled.
func (m *model) waitUndone(out io.Writer) error {
	o := m.op
	switch {
	case m.own != nil:
		o = m.own
	case o != nil && o.left: // the operation ended before the dashboard
		return o.err
	default:
		return nil
	}
	fmt.Fprintf(out, "%s is being canceled safely; ctrl-c stops at once\n", o.verb.name)
	o.feed.divert(func(e ops.Event) {
		switch e.Kind {
		case ops.Undone:
			fmt.Fprintln(out, strings.TrimSpace("undone: "+e.Title+" "+widget.Clean(e.Error)))
		case ops.Kept:
			fmt.Fprintln(out, "not undone: "+e.Title+": "+widget.Clean(e.Line))
		case ops.Warning:
			fmt.Fprintln(out, "! "+widget.Clean(e.Line))
		}
	})
	<-o.done
	return o.outcomeErr
}

func withoutNoColor(env []string) (out []string) {
	for _, kv := range env {
		if !strings.HasPrefix(kv, "NO_COLOR=") {
			out = append(out, kv)
		}
	}
	return out
}
