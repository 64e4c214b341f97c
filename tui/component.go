package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/internal/age"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// probes describes how the health of each component is checked.
var probes = map[string]string{
	"node":     "node --version",
	"uv":       "uv --version",
	"claude":   "claude --version, and whether it is logged in",
	"codex":    "codex --version, and whether it is logged in",
	"hermes":   "hermes.service and its gateway",
	"executor": "executor.service and GET /api/health",
}

// hasDrifted reports whether the applied release differs from the lock.
func hasDrifted(c ops.ComponentStatus) bool {
	return c.Drift != "" || c.Desired != "" && c.Applied != "" && c.Desired != c.Applied
}

// lastState returns the last state of a component that the box reported, whether or not the component has drifted.
func lastState(c ops.ComponentStatus) string { return or(c.Last, c.State) }

// driftReason describes why a component has drifted; empty if the versions show it.
func driftReason(c ops.ComponentStatus) string {
	if strings.Contains(c.Drift, " ") {
		return c.Drift
	}
	return ""
}

// versions returns the applied version or, if nothing is applied, the locked one. An arrow marks drift, and the locked
// version follows the arrow if it differs.
func versions(c ops.ComponentStatus) string {
	switch {
	case c.Applied == "":
		return c.Desired
	case c.Desired != "" && c.Desired != c.Applied:
		return c.Applied + " ↑ " + c.Desired
	case hasDrifted(c):
		return c.Applied + " ↑"
	}
	return c.Applied
}

// remark returns the detail that the box reports for a component, or how long its service has been up.
func remark(c ops.ComponentStatus) string {
	if c.Detail != "" {
		return widget.Clean(c.Detail)
	}
	if c.Service == "active" && c.Since > 0 {
		return "up " + age.Format(time.Duration(c.Since)*time.Second)
	}
	return ""
}

// product returns the product name of a component, for use in a sentence.
func product(name string) string {
	switch name {
	case "claude", "codex", "hermes", "executor":
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return name
}

// drawComponent draws the state of a component, dimmed if it is not current.
func drawComponent(p page, s *state, c ops.ComponentStatus) string {
	sg, dim := s.componentSign(c)
	if dim {
		return p.Dim.Render(sg.String())
	}
	return p.Sign(sg)
}

// aboutComponent returns all that is known about a component, one fact a line. digest formats a digest.
func aboutComponent(p page, s *state, c ops.ComponentStatus, w int, digest func(string) string) []string {
	st := s.status()
	var out []string
	fact := func(name, text string) {
		if text == "" {
			return
		}
		for i, line := range widget.Wrap(widget.Clean(text), max(1, w-11)) {
			label := widget.Fit("", 11)
			if i == 0 {
				label = p.Dim.Render(widget.Fit(name, 11))
			}
			out = append(out, label+line)
		}
	}
	desired := s.desired(c.Name)
	fact("desired", c.Desired)
	if st.Guest == nil {
		fact("applied", "not known: the box has not answered yet")
	} else {
		fact("applied", or(c.Applied, "nothing"))
	}
	if last := lastState(c); last != "" && st.Guest != nil {
		running := SignOf(last).Word
		switch {
		case !st.Live && st.State == string(limactl.Stopped):
			running = "not running; it was: " + running
		case !st.Live:
			running = "not asked yet; it was: " + running
		default:
			if c.Service != "" {
				running += ", service " + c.Service
			}
			if c.Since > 0 {
				running += ", up " + age.Format(time.Duration(c.Since)*time.Second)
			}
		}
		fact("running", running)
		fact("previous", or(c.Previous, "none"))
	}
	if hasDrifted(c) {
		fact("drift", s.cost(c))
	}
	fact("says", c.Detail)
	fact("probe", probes[c.Name])
	if desired != nil {
		fact("source", desired.Source)
		for _, a := range desired.Artifacts {
			text, sum := a.Name+"  "+widget.Size(a.Size), digest(a.Digest)
			if ansi.StringWidth(text+"  "+sum) <= w-11 {
				fact("artifact", text+"  "+sum)
				continue
			}
			fact("artifact", text)
			indent := max(0, min(11, w-ansi.StringWidth(sum))) // on one line, if it fits
			for _, line := range widget.Wrap(widget.Clean(sum), max(1, w-indent)) {
				out = append(out, strings.Repeat(" ", indent)+line)
			}
		}
		if desired.Python != nil {
			fact("python", desired.Python.Version)
		}
	}
	if lastState(c) == protocol.SetupRequired {
		fact("sign in", p.typed(ops.TypeSignIn(c.Name)))
	}
	return out
}

// cost describes the drift of a component: the locked version, the reason, and the size of the download for an update.
func (s *state) cost(c ops.ComponentStatus) string {
	text := "the lock says " + or(c.Desired, "none")
	if why := driftReason(c); why != "" {
		text += " (" + why + ")"
	}
	if d := s.desired(c.Name); d != nil {
		text += "; an update downloads " + widget.Size(downloadSize(d.Artifacts))
	}
	return text
}

// fromTo returns which lines are shown, and how many there are: "3 to 12 of 40".
func fromTo(from, to, all int) string { return fmt.Sprintf("%d to %d of %d", min(from+1, to), to, all) }

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
