package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// first is the view where there is no box yet.
type first struct{ checks checks }

// firstChecks looks what this machine lacks.
func (m *model) firstChecks() tea.Cmd {
	if m.hasBox() {
		return nil
	}
	return m.first.checks.begin(m)
}

// firstView says what a box is, what create does, and what is missing here: exactly h lines of w cells.
func (m *model) firstView(w, h int) []string {
	t := m.theme
	var out []string
	text := func(s string) {
		for _, line := range widget.Wrap(s, w-2) {
			out = append(out, " "+line)
		}
	}
	gap := func() {
		if h >= 20 {
			out = append(out, "")
		}
	}
	if m.known.Err == nil {
		out = append(out, m.causes(w)...)
	}
	gap()
	text("A box is a virtual machine of your own for AI agents: Claude Code, Codex, Hermes Agent and Executor, with Node and uv. " +
		"Its system can be thrown away at any time; your work and your logins live on a disk of their own that stays.")
	gap()
	if m.known.Err == nil && h >= 20 {
		text(t.Title.Render("create") + " makes " + m.name() + ": " + m.known.Machine + ". It fetches what the lock names, boots the VM, " +
			"installs, and proves that everything works. If anything fails, all of it is removed again.")
		gap()
	}
	out = append(out, m.missing(w, h-len(out)-2)...)
	for len(out) < h-1 {
		out = append(out, "")
	}
	return append(out[:max(0, h-1)], widget.Fit(" "+m.invitation(), w))
}

// missing is what was found out about this machine, in at most h lines: what it lacks, each with its remedy, then what
// is there.
func (m *model) missing(w, h int) []string {
	t, c := m.theme, &m.first.checks
	all := c.all
	if m.known.Err != nil {
		all = []ops.Check{{Title: "config file", Verdict: ops.Fail, Evidence: m.known.Err.Error(), Repair: fault.HintOf(m.known.Err)}}
	}
	head := t.Title.Render("this machine")
	var lines []string
	has := " "
	for _, check := range all {
		if check.Verdict == ops.Pass {
			has += t.Good.Render("✓") + strings.ReplaceAll(" "+check.Title, " ", "\u00a0") + "   "
			continue
		}
		lines = append(lines, " "+m.checkLine(check, w-1))
		lines = append(lines, m.remedy(check.Repair, w)...)
	}
	switch {
	case c.working():
		head += t.Info.Render(c.progress())
	case len(all) == 0:
	case shortfall(all) == "":
		head += t.Good.Render("  ✓ has all it needs")
	default:
		head += t.Warn.Render("  ! " + shortfall(all))
	}
	if strings.TrimSpace(has) != "" {
		for _, line := range widget.Wrap(strings.TrimRight(has, " "), w-1) {
			lines = append(lines, " "+strings.TrimLeft(strings.ReplaceAll(line, "\u00a0", " "), " "))
		}
	}
	return t.Ruled(head, w, max(0, min(h, len(lines)+1)), lines)
}

// shortfall counts what fails and what could not be looked at; empty if all is well.
func shortfall(all []ops.Check) string {
	bad, blind := 0, 0
	for _, c := range all {
		switch c.Verdict {
		case ops.Fail:
			bad++
		case ops.Unknown:
			blind++
		}
	}
	var parts []string
	if bad > 0 {
		verb := "fail"
		if bad == 1 {
			verb = "fails"
		}
		parts = append(parts, fmt.Sprintf("%d of %s %s", bad, widget.Count(len(all), "check"), verb))
	}
	if blind > 0 {
		parts = append(parts, fmt.Sprintf("%d not known", blind))
	}
	return strings.Join(parts, ", ")
}

// warned is how many checks warn.
func warned(all []ops.Check) (n int) {
	for _, c := range all {
		if c.Verdict == ops.Warn {
			n++
		}
	}
	return n
}

// remedy is the line below what is missing.
func (m *model) remedy(repair string, w int) []string {
	if repair == "" {
		return nil
	}
	var out []string
	for i, line := range widget.Wrap(m.typed(widget.Clean(repair)), w-8) {
		mark := "     "
		if i == 0 {
			mark = "   " + m.theme.Warn.Render("→ ")
		}
		out = append(out, widget.Fit(mark+line, w))
	}
	return out
}

// invitation is the one key to begin with.
func (m *model) invitation() string {
	t := m.theme
	if len(m.first.checks.failed()) > 0 {
		return t.Key.Render("r") + " looks again once that is mended"
	}
	if why := whyNotCreate(m); why != "" {
		return t.Dim.Render(why)
	}
	return t.Key.Render("enter") + t.Title.Render(" makes the box")
}

// checks are what doctor has found, as it finds it.
type checks struct {
	all    []ops.Check
	now    string // what is being looked at
	list   widget.List
	feed   *feed[ops.Check]
	cancel context.CancelFunc
}

// begin makes the checks anew; those of a run before are dropped.
func (c *checks) begin(m *model) tea.Cmd {
	c.end()
	ctx, cancel := context.WithCancel(m.ctx)
	f := newFeed[ops.Check](nil)
	c.all, c.now, c.feed, c.cancel = nil, "", f, cancel
	return tea.Batch(
		m.tasks.do(func() tea.Msg {
			f.end(m.box.Doctor(ctx, f.push))
			return nil
		}),
		func() tea.Msg { return f.next(ctx) })
}

// end stops the checks that are under way.
func (c *checks) end() {
	if c.cancel != nil {
		c.cancel()
	}
	c.feed, c.cancel = nil, nil
}

func (c *checks) working() bool { return c.feed != nil }

// progress is how far they are.
func (c *checks) progress() string {
	looking := "looking on"
	if c.now != "" {
		looking = "looking at: " + widget.Clean(c.now)
	}
	return "  " + widget.Count(len(c.all), "check") + " made, " + looking
}

// begun is whether there are checks, or will be.
func (c *checks) begun() bool { return c.working() || len(c.all) > 0 }

func needsLook(c ops.Check) bool { return c.Verdict == ops.Fail || c.Verdict == ops.Unknown }

// worst is the first check to look at: one that fails or is not known, else one that warns; -1 if all is well.
func worst(all []ops.Check) int {
	if i := slices.IndexFunc(all, needsLook); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, func(c ops.Check) bool { return c.Verdict == ops.Warn })
}

func (c *checks) failed() (bad []ops.Check) {
	for _, check := range c.all {
		if needsLook(check) {
			bad = append(bad, check)
		}
	}
	return bad
}

// checked takes in what doctor has found.
func (m *model) checked(b batch[ops.Check]) tea.Cmd {
	for _, c := range []*checks{&m.first.checks, &m.doctor.checks} {
		if c.feed == nil || c.feed != b.from {
			continue
		}
		for _, check := range b.items {
			if c.now = check.Title; check.Verdict != ops.Looking {
				c.all, c.now = append(c.all, check), ""
			}
		}
		if b.ended {
			c.end()
			if i := worst(c.all); c.list.At == 0 && i > 0 { // whoever has moved already stays
				c.list.Move(i, len(c.all))
			}
			return nil
		}
		f := c.feed
		return func() tea.Msg { return f.next(m.ctx) }
	}
	return nil
}

// checkLine is a check on one line.
func (m *model) checkLine(c ops.Check, w int) string {
	return widget.Fit(widget.Fit(verdictSign(m.theme, c.Verdict), 11)+widget.Fit(c.Title, min(25, max(0, w-11)))+m.theme.Dim.Render(widget.FirstLine(widget.Clean(c.Evidence))), w)
}
