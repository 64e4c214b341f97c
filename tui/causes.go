package tui

import (
	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// causes returns lines that say what is wrong, for display above the panels.
func (s *state) causes(p page, w int) (out []string) {
	st := s.status()
	add := func(text string) {
		const most = 2 // lines of a cause
		lines := widget.Wrap(p.typed(widget.Clean(text)), w-2)
		if len(lines) > most {
			lines = lines[:most]
			lines[most-1] += " …"
		}
		for i, line := range lines {
			mark := "  "
			if i == 0 {
				mark = p.Warn.Render("! ")
			}
			out = append(out, widget.Fit(mark+line, w))
		}
	}
	if s.known.Err != nil {
		add(s.known.Err.Error())
	}
	if s.failed != nil {
		add(s.failed.Error())
	}
	if st.Cause != "" {
		add(st.Cause)
	}
	if u := s.others(); u != nil {
		add("another hermes-box: " + u.String())
	} else if u := s.cutOff(); u != nil && s.own == nil {
		add(u.String())
	}
	if st.Cause == "" { // a cause already covers the ports
		for _, port := range st.PortProblems() {
			add(port.Problem())
		}
	}
	for _, full := range s.fullDisks() {
		add(full)
	}
	if skew := s.skew(); skew != "" {
		add("the clock of the box is " + skew + " this machine's: doctor (d) has the repair")
	}
	if key := st.Key; key != nil && s.hasBox() {
		add("no backup can be made or opened; doctor (d) has the repair: " + key.Warning)
	}
	if problem := s.scheduleProblem(); problem != "" {
		add(problem)
	}
	if st.Guest != nil && st.Live {
		if killed := ops.OutOfMemory(st.Guest); killed != "" {
			add(killed)
		}
	}
	if st.LockError != "" {
		add(st.LockError)
	}
	if waited := p.now.Sub(s.asked); s.asking && waited > 2*pollOften {
		add("no answer from the box for " + age.Format(waited) + "; this is what was known before")
	}
	return out
}
