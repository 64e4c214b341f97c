package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
)

// suggestion is an action that is useful now.
type suggestion struct {
	text string
	id   string // of the binding that does it
	step string // the step of the sign-in to run
}

// suggestions returns at most three actions that are useful in the state of the box, the most urgent first.
func (s *state) suggestions(now time.Time) []suggestion {
	st := s.status()
	var all []suggestion
	add := func(id, format string, args ...any) {
		all = append(all, suggestion{text: fmt.Sprintf(format, args...), id: id})
	}
	switch {
	case s.own != nil:
		add("operation", "show the %s", s.own.verb.name)
	case s.others() != nil:
		add("operation", "watch the %s", s.others().Operation)
	case s.known.Ready && s.resumable() != nil:
		add(s.resumable().Resume, "finish the %s that was cut off", s.resumable().Operation)
	case s.known.Exists && !s.known.Ready:
		add("create", "create the box anew")
	case st.State == "stopped":
		add("start", "start the box")
	case st.State == "degraded":
		add("doctor", "find out what is wrong")
		if !st.Live {
			add("force-stop", "force stop it")
		}
	case s.failed != nil:
		add("doctor", "find out what is wrong")
	case s.own == nil && (len(s.fullDisks()) > 0 || s.skew() != "" || len(st.PortProblems()) > 0):
		add("doctor", "repair what is wrong")
	}
	current := st.Live && s.own == nil
	switch trouble := s.backupTrouble(now); {
	case s.own == nil && trouble == noUsableKey:
		add("doctor", "repair the key of the backups")
	case !current || trouble == "":
	case trouble == "no backup":
		add("backup", "make the first backup")
	case trouble == "backup failed":
		add("backup", "make the backup that failed")
	default:
		add("backups", "look at the backups")
	}
	for _, c := range st.Components {
		if current && lastState(c) == protocol.FailedState {
			add("doctor", "find out why %s fails", c.Name)
			break
		}
	}
	const most = 3
	urgent := all
	all = nil
	if s.drifted() > 0 {
		add("drift", "see what has drifted")
	}
	if current && st.State == "running" {
		add("attach", "work in the box")
	}
	rest, room := all, max(1, most-len(urgent)-len(all)) // the sign-in has many steps: leave room for the rest
	for _, c := range st.Components {
		if current && lastState(c) == protocol.SetupRequired && room > 0 {
			urgent = append(urgent, suggestion{text: "sign in to " + product(c.Name), id: "sign-in", step: c.Name})
			room--
		}
	}
	all = append(urgent, rest...)
	return all[:min(len(all), most)]
}

// nextLines draws the suggestions in one line if they fit, otherwise one a line.
func (s *state) nextLines(p page, w int) []string {
	var parts []string
	line := ""
	for i, next := range s.suggestions(p.now) {
		part := p.Key.Render(fmt.Sprint(i+1)) + " " + next.text
		parts = append(parts, part)
		if i > 0 {
			line += "   "
		}
		line += part
	}
	switch {
	case len(parts) == 0:
		return []string{p.Dim.Render(s.nothingToDo())}
	case ansi.StringWidth(line) <= w:
		return []string{line}
	}
	return parts
}

// nothingToDo returns the text to show if there is no suggestion.
func (s *state) nothingToDo() string {
	switch st := s.status(); {
	case s.busy() != "":
		return "wait for the other command to end"
	case st.State == "starting":
		return "wait: the box is booting"
	case !st.Live:
		return "wait for the box to answer"
	}
	return "nothing to do"
}

// follow runs a suggestion.
func (m *model) follow(i int) tea.Cmd {
	all := m.suggestions(m.now())
	if i >= len(all) {
		return nil
	}
	b := named(m.keys, all[i].id)
	if step := all[i].step; step != "" {
		b.do = func(m *model) tea.Cmd { return m.signIn(step) }
	}
	return m.press(b)
}
