package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"hermes-box/internal/sanitize"
	"hermes-box/ops"
	"hermes-box/ops/fault"
)

// answer is the JSON object that a command prints with --json; logs prints one only for an error. With --events
// an error is printed in this form too.
type answer struct {
	Schema  int      `json:"schema"`
	OK      bool     `json:"ok"`
	Command string   `json:"command"`
	Box     string   `json:"box,omitempty"`
	Result  any      `json:"result,omitempty"`
	Error   *problem `json:"error,omitempty"`
}

type problem struct {
	Code     string         `json:"code"`
	Message  string         `json:"message"`
	Recovery string         `json:"recovery"`
	Details  map[string]any `json:"details"`
}

// result prints the result of a command, as JSON or as the text that the function text writes.
func (a *app) result(command string, v any, text func(p *printer)) error {
	sanitize.Value(&v)
	if a.json {
		sanitize.Strings(&v, a.typed)
		return json.NewEncoder(a.out).Encode(answer{Schema: 1, OK: true, Command: command, Box: a.box, Result: v})
	}
	p := &printer{style: style{a.colored(a.out)}}
	text(p)
	_, err := fmt.Fprint(a.out, a.typed(p.String()))
	return err
}

func (a *app) printError(command string, err error) {
	if a.json || a.events { // with --events every line of stderr is JSON
		details := fault.DetailsOf(err)
		if details == nil {
			details = map[string]any{}
		}
		out := a.errs
		if a.json {
			out = a.out
		}
		p := &problem{Code: string(fault.CodeOf(err)), Message: err.Error(), Recovery: fault.HintOf(err), Details: details}
		sanitize.Strings(p, a.shown)
		json.NewEncoder(out).Encode(answer{Schema: 1, Command: command, Box: a.box, Error: p})
		return
	}
	s := style{a.colored(a.errs)}
	if out, ok := fault.DetailsOf(err)["output"].(string); ok && out != "" {
		fmt.Fprintln(a.errs, s.dim(indent(sanitize.Text(out))))
	}
	fmt.Fprintf(a.errs, "%s %s\n", s.red("hermes-box:"), a.shown(err.Error()))
	if hint := fault.HintOf(err); hint != "" {
		fmt.Fprintf(a.errs, "%s %s\n", s.yellow("hint:"), a.shown(hint))
	}
}

// note prints a line on stderr that is not an error.
func (a *app) note(line string) {
	if !a.quiet && !a.events {
		fmt.Fprintln(a.errs, a.shown(line))
	}
}

// sink returns a Sink that prints the events of an operation (nil with --quiet), and a function to call at the end of
// the operation.
func (a *app) sink() (ops.Sink, func()) {
	a.changes.Store(true)
	switch {
	case a.events:
		enc := json.NewEncoder(a.errs)
		return func(e ops.Event) { enc.Encode(a.shownEvent(e)) }, func() {}
	case a.quiet:
		return nil, func() {}
	}
	p := newProgress(a.errs, style{a.colored(a.errs)}, isTerminal(a.errs) && !accessible())
	return func(e ops.Event) { p.event(a.shownEvent(e)) }, p.close
}

// shownEvent returns the event with a title, line and error that are ready to print.
func (a *app) shownEvent(e ops.Event) ops.Event {
	e.Title, e.Line, e.Error = sanitize.Text(e.Title), a.shown(e.Line), a.shown(e.Error)
	return e
}

// shown makes a text ready to print: it removes escape sequences and completes commands of this program as typed does.
func (a *app) shown(text string) string { return a.typed(sanitize.Text(text)) }

// meanwhile shows a line on a terminal. The function that it returns removes the line.
func (a *app) meanwhile(what string) (over func()) {
	if a.quiet || a.events || accessible() || !isTerminal(a.errs) {
		return func() {}
	}
	fmt.Fprint(a.errs, style{a.colored(a.errs)}.dim(what+"..."))
	return func() { fmt.Fprint(a.errs, "\r\x1b[K") }
}

func (a *app) colored(w any) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

func isTerminal(f any) bool {
	fd, ok := f.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(fd.Fd()))
}

// printer collects the lines of a result.
type printer struct {
	strings.Builder
	style
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func indent(s string) string { return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

// style colours text with the terminal's own palette, or not at all.
type style struct{ on bool }

func (s style) paint(code, text string) string {
	if !s.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) red(t string) string    { return s.paint("31", t) }
func (s style) green(t string) string  { return s.paint("32", t) }
func (s style) yellow(t string) string { return s.paint("33", t) }
func (s style) dim(t string) string    { return s.paint("2", t) }
func (s style) bold(t string) string   { return s.paint("1", t) }
