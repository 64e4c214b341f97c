package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// first is the view that is shown while there is no box.
type first struct{ checks checks }

// firstChecks checks whether this machine has what a box needs.
func (m *model) firstChecks() tea.Cmd {
	if m.hasBox() {
		return nil
	}
	return m.first.checks.begin(m.worker)
}

// view explains what a box is and what create does, and lists what this machine lacks: exactly h lines of w cells.
// whyNot is the reason why no box can be created now.
func (f *first) view(p page, s *state, whyNot string, w, h int) []string {
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
	if s.known.Err == nil {
		out = append(out, s.causes(p, w)...)
	}
	gap()
	text("A box is a virtual machine of your own for AI agents: Claude Code, Codex, Hermes Agent and Executor, with Node and uv. " +
		"Its system can be thrown away at any time; your work and your logins live on a disk of their own that stays.")
	gap()
	if s.known.Err == nil && h >= 20 {
		text(p.Title.Render("create") + " makes " + s.name() + ": " + s.known.Machine + ". It downloads what the lock names, boots the VM, " +
			"installs the software and checks that everything works. If anything fails, all of it is removed again.")
		gap()
	}
	if line := s.savedText(p.now); line != "" {
		text(p.Title.Render("backups") + " " + line)
		gap()
	}
	out = append(out, f.machine(p, s, w, h-len(out)-2)...)
	for len(out) < h-1 {
		out = append(out, "")
	}
	return append(out[:max(0, h-1)], widget.Fit(" "+f.invitation(p, whyNot, s.lastGood() != nil), w))
}

// machine returns the results of the checks in at most h lines: the failures with their repairs, then what passed.
func (f *first) machine(p page, s *state, w, h int) []string {
	c := f.checks
	if s.known.Err != nil {
		c = checks{all: []ops.Check{{Title: "config file", Verdict: ops.Fail, Evidence: s.known.Err.Error(), Repair: fault.HintOf(s.known.Err)}}}
	}
	var lines []string
	for _, check := range c.all {
		if check.Verdict == ops.Pass {
			continue
		}
		lines = append(lines, " "+checkLine(p, check, w-1))
		for _, line := range repairLines(p, check.Repair, w-6) {
			lines = append(lines, widget.Fit("   "+line, w))
		}
	}
	for _, line := range c.titles(p, w-1) {
		lines = append(lines, " "+line)
	}
	head := p.Title.Render("this machine")
	switch warnings := c.count(ops.Warn); {
	case c.working() || len(c.all) == 0 || c.bad():
		head += c.title(p)
	case warnings > 0:
		head += p.Good.Render("  ✓ has all it needs") + p.Warn.Render("  ! "+widget.Count(warnings, "warning"))
	default:
		head += p.Good.Render("  ✓ has all it needs")
	}
	return p.Ruled(head, w, max(0, min(h, len(lines)+1)), lines)
}

// invitation returns the line with the key that creates the box, or why the box cannot be created. saved says
// that there is a good backup, from which the box can be restored instead. A restore needs no lock, but everything else
// that create needs.
func (f *first) invitation(p page, whyNot string, saved bool) string {
	text := p.Key.Render("enter") + p.Title.Render(" create the box")
	switch {
	case f.checks.bad():
		text = p.Key.Render("r") + " check again, once that is repaired"
		saved = saved && !slices.ContainsFunc(f.checks.all, func(c ops.Check) bool { return c.Verdict == ops.Fail && c.ID != "lock" })
	case whyNot != "":
		return p.Dim.Render(whyNot)
	}
	if saved {
		text += "   or   " + p.Key.Render("B") + p.Title.Render(" restore it from a backup")
	}
	return text
}
