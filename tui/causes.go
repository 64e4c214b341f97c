package tui

import (
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// causes returns the lines above the panels that say what is wrong.
func (s *state) causes(p page, w int) (out []string) {
	st := s.status()
	add := func(text string) {
		for i, line := range widget.Wrap(p.typed(widget.Clean(text)), w-2) {
			if i == 2 {
				break
			}
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
	if st.Cause == "" { // a cause mentions the ports too
		for _, port := range st.PortProblems() {
			add(port.Problem())
		}
	}
	if skew := s.skew(); skew != "" {
		add("the clock of the box is " + skew + " this machine's: doctor (d) has the repair")
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
		add("no answer from the box for " + widget.Age(waited) + "; this is what was known before")
	}
	return out
}
