package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/lock"
	"hermes-box/tui/widget"
)

// details is how far the details of a component, or the drift, are scrolled.
type details struct{ top int }

// probes are how the health of a component is found out.
var probes = map[string]string{
	"node":     "node --version",
	"uv":       "uv --version",
	"claude":   "claude --version, and whether it is logged in",
	"codex":    "codex --version, and whether it is logged in",
	"hermes":   "hermes.service and its gateway",
	"executor": "executor.service and GET /api/health",
}

// openDetails shows the selected component, with the end of its log where it has one.
func (m *model) openDetails() tea.Cmd {
	m.show(onDetails)
	m.details = details{}
	c, ok := m.selected()
	if !ok || !ofBox(c.Name) || m.status().State != "running" {
		return nil
	}
	return m.logs.open(m, c.Name)
}

// detailsView is all that is known of the selected component: exactly h lines of w cells.
func (m *model) detailsView(w, h int) []string {
	c, ok := m.selected()
	if !ok {
		return m.theme.Panel(m.theme.Title.Render("details"), w, h, []string{"Nothing is known of the components yet."})
	}
	title, about := m.theme.Title.Render(c.Name)+"  "+m.componentState(c), m.aboutComponent(c, w-4, strings.Clone)
	below := h - len(about) - 2
	if below < 5 || !ofBox(c.Name) || m.logs.source != c.Name {
		return m.scrolled(title, w, h, about)
	}
	log := widget.Last(m.logs.draw(w-4), below-2)
	for i := range log {
		log[i] = m.theme.Dim.Render(ansi.Truncate(log[i], w-4, "…"))
	}
	return append(m.scrolled(title, w, h-below, about), m.theme.Panel(m.theme.Title.Render("log of "+c.Name), w, below, log)...)
}

// scrolled is a panel of lines that may be more than fit.
func (m *model) scrolled(title string, w, h int, lines []string) []string {
	room := max(1, h-2)
	m.details.top = max(0, min(m.details.top, len(lines)-room))
	if len(lines) > room {
		title += m.theme.Dim.Render(fmt.Sprintf("  %d to %d of %d", m.details.top+1, min(len(lines), m.details.top+room), len(lines)))
	}
	return m.theme.Panel(title, w, h, lines[m.details.top:])
}

// preview is the beginning of the details, below the dashboard.
func (m *model) preview(w int) (title string, lines []string) {
	c, ok := m.selected()
	if !ok {
		return "box", []string{m.theme.Dim.Render("The first answer of the box fills this in.")}
	}
	return c.Name, m.aboutComponent(c, w, short)
}

// aboutComponent is what is known of a component, a fact a line; digest writes a digest.
func (m *model) aboutComponent(c ops.ComponentStatus, w int, digest func(string) string) []string {
	t, st := m.theme, m.status()
	var out []string
	fact := func(name, text string) {
		if text == "" {
			return
		}
		for i, line := range widget.Wrap(widget.Clean(text), max(1, w-11)) {
			label := widget.Fit("", 11)
			if i == 0 {
				label = t.Dim.Render(widget.Fit(name, 11))
			}
			out = append(out, label+line)
		}
	}
	desired := m.wanted(c.Name)
	fact("desired", c.Desired)
	if c.State == ops.NotAsked && c.Last == "" {
		fact("applied", "not known: the box has not answered yet")
	} else {
		fact("applied", or(c.Applied, "nothing"))
	}
	if c.Last != "" {
		running := SignOf(c.Last).Word
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
				running += ", up " + widget.Age(time.Duration(c.Since)*time.Second)
			}
		}
		fact("running", running)
		fact("previous", or(c.Previous, "none"))
	}
	if hasDrifted(c) {
		fact("drift", m.cost(c))
	}
	if c.Detail != "" {
		fact("says", c.Detail)
	}
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
			indent := max(0, min(11, w-ansi.StringWidth(sum))) // whole on one line, where it can be
			for _, line := range widget.Wrap(widget.Clean(sum), max(1, w-indent)) {
				out = append(out, strings.Repeat(" ", indent)+line)
			}
		}
		if desired.Python != nil {
			fact("python", desired.Python.Version)
		}
	}
	if c.State == protocol.SetupRequired {
		fact("sign in", m.typed(ops.TypeSignIn(c.Name)))
	}
	return out
}

// cost says what meeting the drift of a component takes.
func (m *model) cost(c ops.ComponentStatus) string {
	text := "the lock says " + or(c.Desired, "none")
	if strings.Contains(c.Drift, " ") { // a word alone names the kind, which is seen
		text += " (" + c.Drift + ")"
	}
	if d := m.wanted(c.Name); d != nil {
		var total int64
		for _, a := range d.Artifacts {
			total += a.Size
		}
		text += "; an update brings in " + widget.Size(total)
	}
	return text
}

// wanted is a component as the lock has it.
func (m *model) wanted(name string) *lock.Component {
	if m.known.Lock == nil {
		return nil
	}
	return m.known.Lock.Components[name]
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
