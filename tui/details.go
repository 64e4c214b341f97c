package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/lock"
)

// details is how far the details of a component, or the drift, are scrolled.
type details struct{ top int }

// probes are how the health of a component is found out.
var probes = map[string]string{
	"node": "node --version", "uv": "uv --version", "claude": "claude --version, and whether it is logged in",
	"codex": "codex --version, and whether it is logged in", "hermes": "hermes.service and its gateway", "executor": "executor.service and GET /api/health",
}

// detailsView is all that is known of the selected component: exactly h lines of w cells.
func (m *model) detailsView(w, h int) []string {
	c, ok := m.selected()
	if !ok {
		return m.theme.panel(m.theme.title.Render("details"), w, h, []string{"Nothing is known of the components yet."})
	}
	return m.scrolled(m.theme.title.Render(c.Name)+"  "+m.componentState(c), w, h, m.aboutComponent(c, w-4, strings.Clone))
}

// scrolled is a panel of lines that may be more than fit.
func (m *model) scrolled(title string, w, h int, lines []string) []string {
	room := max(1, h-2)
	m.details.top = max(0, min(m.details.top, len(lines)-room))
	if len(lines) > room {
		title += m.theme.dim.Render(fmt.Sprintf("  %d to %d of %d", m.details.top+1, min(len(lines), m.details.top+room), len(lines)))
	}
	return m.theme.panel(title, w, h, lines[m.details.top:])
}

// preview is the beginning of the details, below the dashboard.
func (m *model) preview(w int) (title string, lines []string) {
	c, ok := m.selected()
	if !ok {
		return "box", []string{m.theme.dim.Render("The first answer of the box fills this in.")}
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
		for i, line := range wrapped(clean(text), max(1, w-11)) {
			label := fit("", 11)
			if i == 0 {
				label = t.dim.Render(fit(name, 11))
			}
			out = append(out, label+line)
		}
	}
	desired := m.wanted(c.Name)
	fact("desired", c.Desired)
	if c.State == "unknown" {
		fact("applied", "not known: the box has not answered yet")
	} else {
		fact("applied", or(c.Applied, "nothing"))
	}
	if g := guestComponent(st.Guest, c.Name); g != nil {
		running := g.State
		if c.Service != "" {
			running += ", service " + c.Service
		}
		if c.Since > 0 {
			running += ", up " + age(time.Duration(c.Since)*time.Second)
		}
		if !st.Live {
			running = "not asked yet; it was " + g.State
			if st.State == string(limactl.Stopped) {
				running = "not running; it was " + g.State
			}
		}
		fact("running", running)
		fact("previous", or(g.Previous, "none"))
	}
	if hasDrifted(c) {
		fact("drift", m.cost(c))
	} else {
		fact("says", c.Detail)
	}
	fact("probe", probes[c.Name])
	if desired != nil {
		fact("source", desired.Source)
		for _, a := range desired.Artifacts {
			fact("artifact", fmt.Sprintf("%s  %s  %s", a.Name, size(a.Size), digest(a.Digest)))
		}
		if desired.Python != nil {
			fact("python", desired.Python.Version)
		}
	}
	if c.State == protocol.SetupRequired {
		fact("sign in", signIn[c.Name])
	}
	if source := c.Name; slices.Contains(ops.LogSources, source) {
		fact("log", "l shows it")
	}
	return out
}

// signIn is what is typed to sign in, until there is a walkthrough.
var signIn = map[string]string{
	"claude": "hermes-box exec -t -- claude auth login",
	"codex":  "hermes-box exec -t -- codex login --device-auth",
	"hermes": "hermes-box exec -t -- hermes setup",
}

// hasDrifted is whether something else is applied than the lock says.
func hasDrifted(c ops.ComponentStatus) bool {
	return c.State == "drifted" || c.Desired != "" && c.Applied != "" && c.Desired != c.Applied
}

// cost says what meeting the drift of a component takes.
func (m *model) cost(c ops.ComponentStatus) string {
	text := fmt.Sprintf("%s is applied, the lock says %s", or(c.Applied, "nothing"), or(c.Desired, "none"))
	if c.State == "drifted" && c.Detail != "" {
		text += " (" + c.Detail + ")"
	}
	if d := m.wanted(c.Name); d != nil {
		var total int64
		for _, a := range d.Artifacts {
			total += a.Size
		}
		text += "; an update brings in " + size(total)
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

func guestComponent(s *protocol.Status, name string) *protocol.ComponentStatus {
	if s == nil {
		return nil
	}
	for i := range s.Components {
		if s.Components[i].Name == name {
			return &s.Components[i]
		}
	}
	return nil
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// driftView sets the lock against what is applied: exactly h lines of w cells.
func (m *model) driftView(w, h int) []string {
	t, st := m.theme, m.status()
	var out []string
	row := func(name, from, to, how string) {
		out = append(out, t.warn.Render("↑ ")+fit(name, 18)+fit(or(from, "none")+" → "+or(to, "none"), 30)+t.dim.Render(clean(how)))
	}
	for _, c := range st.Components {
		if hasDrifted(c) {
			row(c.Name, c.Applied, c.Desired, m.meets(c))
		}
	}
	for _, d := range st.Platform {
		row(d.Name, short(d.From), short(d.To), "met by a rebuild")
		if strings.Contains(d.Reason, " ") {
			out = append(out, "    "+t.dim.Render(clean(d.Reason)))
		}
	}
	switch {
	case st.LockError != "":
		out = append(out, wrapped(clean(st.LockError), w-4)...)
	case st.Guest == nil:
		out = append(out, "What is applied is not known: the box has not answered yet.")
	case len(out) == 0:
		out = append(out, t.good.Render("✓ ")+"What is applied is what the lock and the config say.")
	default:
		out = append(out, "")
		for _, line := range wrapped("An update replaces components and keeps the system; a rebuild replaces the system and keeps the data disk. "+
			"start installs nothing: the box goes on as it is.", w-4) {
			out = append(out, t.dim.Render(line))
		}
	}
	title := t.title.Render("drift") + t.dim.Render("  lock and config against what is applied")
	return m.scrolled(title, w, h, out)
}

func (m *model) meets(c ops.ComponentStatus) string {
	d := m.wanted(c.Name)
	if d == nil {
		return c.Detail
	}
	var total int64
	for _, a := range d.Artifacts {
		total += a.Size
	}
	return "met by an update, " + size(total)
}

// short cuts a digest to what a person compares.
func short(s string) string {
	if kind, hex, ok := strings.Cut(s, ":"); ok && len(hex) > 12 {
		return kind + ":" + hex[:12]
	}
	return s
}

// scroll moves in the details.
func (m *model) scroll(by int) tea.Cmd {
	m.details.top = max(0, m.details.top+by)
	return nil
}
