package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"hermes-box/internal/sanitize"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui"
)

// renderers has, for each log that is NDJSON, the function that formats a line of it for people.
var renderers = map[string]func(style, []byte) string{"operations": eventText, "commands": commandText}

func (a *app) logs() *cobra.Command {
	var lines int
	var follow, raw bool
	cmd := &cobra.Command{
		Use: "logs [" + strings.Join(ops.LogSources, "|") + "]", GroupID: "look", Args: cobra.MaximumNArgs(1), ValidArgs: ops.LogSources,
		Short: "show a log of the box or of what was done to it",
		Long: `Show a log. hermes, executor and recovery are logs of services in the box; boot is the console of the VM;
operations has the steps of the newest operation on the box; commands has the runs of limactl and ssh, except the
successful ones that the dashboard repeats. Without a name it shows operations.

Escape sequences and control characters are removed, since programs in the box can write anything; --raw keeps
them. --json prints operations and commands as JSON, one object a line.`,
		Example: "  hermes-box logs\n  hermes-box logs executor -f\n  hermes-box logs commands -n 20 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			source := "operations"
			if len(args) == 1 {
				source = args[0]
			}
			if err := oneOf(cmd, "log", source, ops.LogSources); err != nil {
				return err
			}
			switch {
			case lines < 1:
				return fault.New(fault.InvalidInput, "--lines is %d; it must be at least 1", lines).Hint("hermes-box logs --lines 100")
			case a.json && raw:
				return fault.New(fault.InvalidInput, "--json and --raw exclude each other").Hint("give one of them")
			case a.json && renderers[source] == nil:
				return fault.New(fault.InvalidInput, "logs %s does not take --json: that log is plain text", source).Hint("hermes-box logs %s", source)
			}
			b, err := a.openDamaged()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if a.follows = follow; follow {
				ctx = whileRead(ctx, a.stdout)
			}
			if raw {
				a.out.ascii = false
				err = b.Logs(ctx, source, lines, follow, a.out)
			} else {
				out := &lineWriter{out: a.out, render: a.logLine(source)}
				if err = b.Logs(ctx, source, lines, follow, out); err == nil {
					err = out.flush()
				}
			}
			if err == nil && a.out.written == 0 {
				a.note("the log is empty")
			}
			if cause := context.Cause(ctx); errors.Is(cause, syscall.EPIPE) {
				return cause
			}
			return err
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 200, "number of lines to show, from the end")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show new lines as they come, until ctrl-c")
	cmd.Flags().BoolVar(&raw, "raw", false, "pass the log through unchanged, escape sequences included")
	return cmd
}

// logLine returns the function that renders a line of a log. It removes the escape sequences and control characters in
// the line, except tabs and line ends.
func (a *app) logLine(source string) func([]byte) string {
	render := renderers[source]
	if a.json {
		return func(line []byte) string { return a.typedJSON(sanitize.Text(string(line))) }
	}
	if render == nil {
		return func(line []byte) string { return sanitize.Text(string(line)) }
	}
	s := style{a.colored(a.stdout)}
	return func(line []byte) string { return a.typed(render(s, line)) }
}

// whileRead returns a context that ends with EPIPE when the reader of out has gone, if out is a pipe or a socket. With
// ctx alone hermes-box would notice that only at its next write, and there is no next write if nothing is added to the
// log.
func whileRead(ctx context.Context, out io.Writer) context.Context {
	f, ok := out.(*os.File)
	if !ok {
		return ctx
	}
	if info, err := f.Stat(); err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return ctx
	}
	ctx, gone := context.WithCancelCause(ctx)
	fd := int32(f.Fd())
	go func() { // until the reader has gone or the process ends
		for {
			poll := []unix.PollFd{{Fd: fd}}
			n, err := unix.Poll(poll, -1)
			if n > 0 {
				gone(syscall.EPIPE)
			}
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return ctx
}

// lineWriter renders its input line by line; a write may end within a line.
type lineWriter struct {
	out    io.Writer
	render func([]byte) string
	rest   []byte
}

// maxLine limits what lineWriter keeps: when it has that many bytes without a line end, it renders them as a line.
const maxLine = 1 << 20

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok && len(line) < maxLine {
			return len(p), nil
		}
		if _, err := fmt.Fprintln(w.out, w.render(line)); err != nil {
			return 0, err
		}
		w.rest = rest
	}
}

// flush renders a last line without a line end.
func (w *lineWriter) flush() error {
	if len(w.rest) == 0 {
		return nil
	}
	_, err := w.Write([]byte("\n"))
	return err
}

// eventText renders one event of an operation. A line that is not an event is only sanitized.
func eventText(s style, line []byte) string {
	var e ops.Event
	if json.Unmarshal(line, &e) != nil || e.Kind == "" {
		return sanitize.Text(string(line))
	}
	e.Line, e.Error = sanitize.Text(e.Line), sanitize.Text(e.Error)
	what := e.Line
	switch e.Kind {
	case ops.Planned:
		var steps []string
		for _, step := range e.Steps {
			steps = append(steps, step.ID)
		}
		what = "steps: " + strings.Join(steps, " ")
	case ops.Started:
		what = e.Title
	case ops.Phase:
		what = strings.TrimSpace(e.Component+" "+e.Phase) + ": " + tui.SignOf(e.State).Word
	case ops.Warning:
		what = s.yellow("! " + e.Line)
	case ops.Done:
		what = s.green("✓ done") + " in " + seconds(e.Seconds)
	case ops.Failed:
		what = s.red("✗ failed") + " after " + seconds(e.Seconds) + ": " + e.Error
	case ops.Undoing:
		what = "undo: " + e.Title
	case ops.Undone:
		what = s.yellow("↩ undone")
		if e.Error != "" {
			what = s.red("✗ could not undo") + ": " + e.Error
		}
	case ops.Finished:
		what = s.green("✓ finished") + " in " + seconds(e.Seconds)
		if e.Error != "" {
			what = s.red("✗ failed") + " after " + seconds(e.Seconds) + ": " + e.Error
		}
	}
	return fmt.Sprintf("%s  %-8s %-10s %s", s.dim(e.Time.Local().Format(time.DateTime)), e.Operation, e.Step, hang(what))
}

// commandText renders one run of limactl or ssh.
func commandText(s style, line []byte) string {
	var c ops.LoggedCommand
	if json.Unmarshal(line, &c) != nil || c.Command == "" {
		return sanitize.Text(string(line))
	}
	how := s.green("✓")
	switch {
	case c.Canceled():
		how, c.Error = s.dim("–"), ""
	case c.Status != 0 || c.Error != "":
		how = s.red("✗")
	}
	text := fmt.Sprintf("%s  %s %6s  %s", s.dim(c.Time.Local().Format(time.DateTime)), how, seconds(c.Seconds), sanitize.Text(c.Line()))
	for _, more := range []string{sanitize.Text(c.Error), sanitize.Text(c.Stderr)} {
		if more = strings.TrimSpace(more); more != "" {
			text += "\n" + strings.Repeat(" ", 10) + hang(more)
		}
	}
	return text
}

// hang indents all lines but the first.
func hang(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+strings.Repeat(" ", 10))
}
