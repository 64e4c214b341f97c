package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// checks holds the results of the checks that doctor or create runs, and the selected one.
type checks struct {
	all    []ops.Check
	now    string // the title of the check that is running
	list   widget.List
	feed   *feed[ops.Check]
	cancel context.CancelFunc
}

// begin runs the checks and drops the results of an earlier run.
func (c *checks) begin(w *worker) tea.Cmd {
	c.end()
	ctx, cancel := context.WithCancel(w.ctx)
	f := newFeed[ops.Check](nil)
	c.all, c.now, c.feed, c.cancel = nil, "", f, cancel
	return tea.Batch(
		w.tasks.do(func() tea.Msg {
			f.end(w.box.Doctor(ctx, f.push))
			return nil
		}),
		func() tea.Msg { return f.next(ctx) })
}

// end stops the running checks.
func (c *checks) end() {
	if c.cancel != nil {
		c.cancel()
	}
	c.feed, c.cancel = nil, nil
}

func (c *checks) working() bool { return c.feed != nil }

// begun reports whether checks are running or have results.
func (c *checks) begun() bool { return c.working() || len(c.all) > 0 }

// take adds the results of a batch.
func (c *checks) take(w *worker, b batch[ops.Check]) tea.Cmd {
	if c.feed == nil || c.feed != b.from {
		return nil
	}
	for _, check := range b.items {
		if c.now = check.Title; check.Verdict != ops.Looking {
			c.all, c.now = append(c.all, check), ""
		}
	}
	if !b.ended {
		f := c.feed
		return func() tea.Msg { return f.next(w.ctx) }
	}
	c.end()
	if i := worst(c.all); c.list.At == 0 && i > 0 { // but keep a selection of the user
		c.list.Move(i, len(c.all))
	}
	return nil
}

// title returns how many checks are done, the running one, and the failures and warnings so far.
func (c *checks) title(p page) (title string) {
	if c.working() {
		now := ""
		if c.now != "" {
			now = ", checking " + widget.Clean(c.now)
		}
		title = p.Info.Render("  " + widget.Count(len(c.all), "check") + " done" + now)
	} else if n := c.count(ops.Pass); n > 0 {
		title = p.Good.Render(fmt.Sprintf("  ✓ %d passed", n))
	}
	for _, count := range []struct {
		verdict ops.Verdict
		what    string
		ink     widget.Ink
	}{{ops.Fail, "✗ %d failed", p.Bad}, {ops.Unknown, "? %d unknown", p.Warn}} {
		if n := c.count(count.verdict); n > 0 {
			title += "  " + count.ink.Render(fmt.Sprintf(count.what, n))
		}
	}
	if n := c.count(ops.Warn); n > 0 {
		title += "  " + p.Warn.Render("! "+widget.Count(n, "warning"))
	}
	return title
}

func (c *checks) count(v ops.Verdict) (n int) {
	for _, check := range c.all {
		if check.Verdict == v {
			n++
		}
	}
	return n
}

// bad reports whether a check failed or could not be made.
func (c *checks) bad() bool { return c.count(ops.Fail)+c.count(ops.Unknown) > 0 }

// worst returns the index of the first check that failed or is unknown or, if there is none, of the first warning; -1
// if all passed.
func worst(all []ops.Check) int {
	i := slices.IndexFunc(all, func(c ops.Check) bool { return c.Verdict == ops.Fail || c.Verdict == ops.Unknown })
	if i >= 0 {
		return i
	}
	return slices.IndexFunc(all, func(c ops.Check) bool { return c.Verdict == ops.Warn })
}

// selected returns the selected check, or false if there is none.
func (c *checks) selected() (ops.Check, bool) {
	if c.list.At < len(c.all) {
		return c.all[c.list.At], true
	}
	return ops.Check{}, false
}

// pick selects the check on line y.
func (c *checks) pick(y int) {
	if row, ok := c.list.Row(y-2, len(c.all)); ok {
		c.list.At = row
	}
}

// checkLine draws a check on one line.
func checkLine(p page, c ops.Check, w int) string {
	evidence := widget.FirstLine(widget.Clean(c.Evidence))
	return widget.Fit(widget.Fit(p.verdict(c.Verdict), 11)+widget.Fit(c.Title, min(25, max(0, w-11)))+p.Dim.Render(evidence), w)
}

// repairLines draws the repair of a check.
func repairLines(p page, repair string, w int) (out []string) {
	if repair == "" {
		return nil
	}
	for i, line := range widget.Wrap(p.typed(widget.Clean(repair)), w-2) {
		mark := "  "
		if i == 0 {
			mark = p.Warn.Render("→ ")
		}
		out = append(out, mark+line)
	}
	return out
}

// titles draws the names of the checks that passed, in lines of w cells. It does not break lines within a name.
func (c *checks) titles(p page, w int) (lines []string) {
	text := ""
	for _, check := range c.all {
		if check.Verdict == ops.Pass {
			text += p.Good.Render("✓") + strings.ReplaceAll(" "+check.Title, " ", "\u00a0") + "   "
		}
	}
	if text == "" {
		return nil
	}
	for _, line := range widget.Wrap(strings.TrimRight(text, " "), w) {
		lines = append(lines, strings.TrimLeft(strings.ReplaceAll(line, "\u00a0", " "), " "))
	}
	return lines
}
