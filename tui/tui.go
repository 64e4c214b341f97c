// Package tui is the dashboard: hermes-box typed alone in a terminal.
//
// There is one Tea model; the views are plain structs in it. Nothing in it waits: what takes time is a command with a
// context and a bound, and leaving ends them all. One table of bindings feeds the footer, the list of keys, the palette
// and the README. Every state is glyph, word and colour.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"hermes-box/ops"
)

// Options are what the command line and the environment say of how it looks.
type Options struct {
	In     *os.File
	Out    *os.File
	Errors io.Writer // what is told once the dashboard is gone
	Color  string    // auto, always or never
	Theme  string    // one of Themes; empty: the first
	ASCII  bool      // nothing but ASCII
	Label  string    // said beside the name of the box everywhere: "demo"
}

// leaveBound is how long leaving waits for what is under way to be gone. A child that does not end by then goes with
// the process.
const leaveBound = 150 * time.Millisecond

// framesPerSecond is as few as let a key be seen within 33 ms: each one costs a wake-up, also while nothing happens.
const framesPerSecond = 36

// Run shows the dashboard until the person leaves or the context ends. An operation that is then under way is canceled
// and undone before it returns, and the lines of that are written to Errors.
func Run(ctx context.Context, b Box, o Options) error {
	m := newModel(ctx, b)
	m.theme, m.label = newTheme(o.Theme), o.Label
	m.ascii = o.ASCII || !utf8Locale(os.Getenv)
	if w, h, err := term.GetSize(o.Out.Fd()); err == nil {
		m.w, m.h = w, h // so that the first frame is whole
	}
	options := []tea.ProgramOption{tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond)}
	switch o.Color {
	case "never":
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	case "always":
		options = append(options, tea.WithColorProfile(max(colorprofile.ANSI, colorprofile.Env(withoutNoColor(os.Environ())))))
	}
	_, err := tea.NewProgram(m, options...).Run()
	m.stop()
	undo := m.undone(o.Errors)
	m.tasks.wait(leaveBound)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, undo)
}

// undone waits for an operation to undo itself, and tells so.
func (m *model) undone(out io.Writer) error {
	if !m.running() {
		return nil
	}
	o := m.op
	select {
	case <-o.done:
	default:
		fmt.Fprintf(out, "%s is being canceled safely; once more ctrl-c to stop at once\n", o.verb.id)
	}
	for {
		b := o.feed.next(context.Background())
		for _, e := range b.items {
			switch e.Kind {
			case ops.Undone:
				fmt.Fprintf(out, "undone: %s %s\n", e.Title, e.Error)
			case ops.Warning:
				fmt.Fprintf(out, "! %s\n", clean(e.Line))
			}
		}
		if b.ended {
			return nil
		}
		select {
		case <-o.done:
			return nil
		default:
		}
	}
}

func withoutNoColor(env []string) (out []string) {
	for _, kv := range env {
		if len(kv) < 9 || kv[:9] != "NO_COLOR=" {
			out = append(out, kv)
		}
	}
	return out
}
