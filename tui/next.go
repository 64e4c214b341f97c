package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
)

// suggestion is what would be good to do now.
type suggestion struct {
	text string
	id   string // of the binding that does it
	step string // the one step of signing in that is meant
}

// suggestions are the most useful things to do in the state the box is in, the first first; at most three.
func (m *model) suggestions() []suggestion {
	st := m.status()
	var all []suggestion
	add := func(id, format string, args ...any) {
		all = append(all, suggestion{text: fmt.Sprintf(format, args...), id: id})
	}
	switch {
	case m.running():
		add("operation", "look at the %s", m.op.verb.id)
	case m.others() != nil:
		add("operation", "watch the %s", m.others().Operation)
	case st.Underway != nil && st.Underway.Unfinished() && hasVerb(st.Underway.Resume) && m.known.Ready:
		add(st.Underway.Resume, "finish the %s that was cut off", st.Underway.Operation)
	case m.known.Exists && !m.known.Ready && whyBusy(m) == "":
		add("create", "make the box anew")
	case st.State == "stopped":
		add("start", "start the box")
	case st.State == "degraded":
		add("doctor", "find out what is wrong")
		if !st.Live {
			add("force-stop", "stop it by force")
		}
	case m.poll.err != nil:
		add("doctor", "find out what is wrong")
	}
	for _, c := range st.Components {
		if st.Live && c.State == protocol.FailedState {
			add("doctor", "find out why %s fails", c.Name)
			break
		}
	}
	const most = 3
	urgent := all
	all = nil
	if m.drifted() > 0 {
		add("drift", "see what has drifted")
	}
	if st.Live && st.State == "running" {
		add("attach", "work in the box")
	}
	rest, room := all, max(1, most-len(urgent)-len(all)) // signing in is many steps: it leaves room for the rest
	for _, c := range st.Components {
		if st.Live && c.Last == protocol.SetupRequired && room > 0 { // also of one that has drifted
			urgent = append(urgent, suggestion{text: "sign in to " + product(c.Name), id: "sign-in", step: c.Name})
			room--
		}
	}
	all = append(urgent, rest...)
	return all[:min(len(all), most)]
}

// product is what a component is called where it is not a word of ours.
func product(name string) string {
	switch name {
	case "claude", "codex", "hermes", "executor":
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return name
}

// nextLines are the suggestions in one line where they fit, else in one each.
func (m *model) nextLines(w int) []string {
	var parts []string
	for i, s := range m.suggestions() {
		parts = append(parts, m.theme.Key.Render(fmt.Sprint(i+1))+" "+s.text)
	}
	if len(parts) == 0 {
		return []string{m.theme.Dim.Render(m.nothing())}
	}
	if line := strings.Join(parts, "   "); ansi.StringWidth(line) <= w {
		return []string{line}
	}
	return parts
}

// nothing says why there is nothing to do.
func (m *model) nothing() string {
	switch st := m.status(); {
	case st.Busy != "":
		return "wait for the other command to end"
	case st.State == "starting":
		return "wait: the box is booting"
	case !st.Live:
		return "wait for the box to answer"
	}
	return "nothing needs doing"
}

// follow does a suggestion.
func (m *model) follow(i int) tea.Cmd {
	all := m.suggestions()
	if i >= len(all) {
		return nil
	}
	b := named(m.keys, all[i].id)
	if step := all[i].step; step != "" {
		b.do = func(m *model) tea.Cmd { return m.signIn(step) }
	}
	return m.press(b)
}

// drifted counts what is otherwise than the lock and the config say.
func (m *model) drifted() int {
	n := len(m.status().Platform)
	for _, c := range m.status().Components {
		if hasDrifted(c) {
			n++
		}
	}
	return n
}
