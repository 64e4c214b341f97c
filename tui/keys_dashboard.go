package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// viewBindings returns the bindings that open views, and those of the dashboard alone.
func viewBindings() []binding {
	return []binding{
		{id: "begin", keys: []string{"enter"}, label: "create the box", rank: 1, in: onFirst,
			effect: "create the box that the config describes",
			words:  "make begin", why: whyNotCreate, do: func(m *model) tea.Cmd { return m.pressID("create") }},
		{id: "check-again", keys: []string{"r"}, label: "check again", rank: 2, in: onFirst,
			effect: "check this machine again",
			words:  "refresh doctor", do: func(m *model) tea.Cmd { return tea.Batch(m.pollNow(), m.firstChecks()) }},
		{id: "details", keys: []string{"enter"}, label: "details", rank: 1, in: onDashboard,
			effect: "everything about the selected component",
			words:  "inspect show component digest source version", do: (*model).openDetails},
		{id: "attach", keys: []string{"a"}, label: "attach", rank: 2, in: withBox,
			effect: "work in the box: this terminal becomes tmux session main; ctrl-b d comes back",
			words:  "ssh shell terminal tmux work enter", why: whyNotAttach, do: (*model).attach},
		{id: "logs", keys: []string{"l"}, label: "logs", rank: 5, in: anywhere &^ (onLogs | onOperation),
			effect: "the logs of the box and of the operations on it",
			words:  "journal tail output commands history operations boot serial",
			do:     func(m *model) tea.Cmd { return m.openLogs(m.logOfPlace()) }},
		{id: "doctor", keys: []string{"d"}, label: "doctor", rank: 6, in: anywhere &^ (onDoctor | onOperation),
			effect: "check this machine and the box, with evidence and repairs",
			words:  "diagnose check health repair fix problem", do: (*model).openDoctor},
		{id: "backups", keys: []string{"B"}, label: "backups", rank: 8, in: anywhere &^ (onBackups | onOperation),
			effect: "the backups of the box: make, verify, export, delete or restore one",
			words:  "restore export get copies list saved", do: (*model).openBackups},
		{id: "drift", keys: []string{"v"}, label: "drift", rank: 9, in: onDashboard | onDetails,
			effect: "installed and locked versions",
			words:  "difference outdated changes lock versions", do: (*model).openDrift},
		{id: "portal", keys: []string{"p"}, label: "portal", in: onDashboard | onDetails,
			effect: "open Executor's portal in the browser, or Hermes's dashboard if hermes is selected",
			words:  "open browser web url executor dashboard address", why: whyNoPortal, do: (*model).portal},
		{id: "sign-in", keys: []string{"w"}, label: "sign in", rank: 7, in: onDashboard | onDetails,
			effect: "sign in to the agents, step by step",
			words:  "login auth account walkthrough token setup", why: whyNotSignIn, do: func(m *model) tea.Cmd { return m.signIn("") }},
		{id: "operation", keys: []string{"o"}, label: "operation", rank: 1, in: withBox | onFirst,
			effect: "the operation that is under way, here or in another hermes-box",
			words:  "progress create plan steps watch", why: whyNoOperation, do: (*model).openOperation},
		{id: "refresh", keys: []string{"r"}, label: "refresh", in: onDashboard | onDetails | onDrift,
			effect: "ask the box again, now",
			words:  "reload now", do: (*model).pollNow},
		next(1), next(2), next(3),
	}
}

// next returns the binding of suggestion i, counted from 1.
func next(i int) binding {
	return binding{id: fmt.Sprint("next-", i), keys: []string{fmt.Sprint(i)}, label: fmt.Sprint("suggestion ", i), in: onDashboard, move: true,
		effect: fmt.Sprintf("do suggestion %d of what to do next", i),
		do:     func(m *model) tea.Cmd { return m.follow(i - 1) }}
}

// commonBindings returns the bindings that work in every view.
func commonBindings() []binding {
	return []binding{
		{id: "back", keys: []string{"esc", "backspace"}, label: "back", last: true, move: true, in: anywhere &^ (onFirst | onDashboard),
			effect: "back to the view below",
			words:  "close dashboard home", do: (*model).back},
		{id: "error", keys: []string{"e"}, label: "last error", in: anywhere,
			effect: "show the last error again",
			words:  "failure what happened", why: whyNoError, do: (*model).showError},
		{id: "mouse", keys: []string{"m"}, label: "mouse", in: anywhere,
			effect: "give the mouse back to the terminal, to select text, or take it again",
			words:  "select copy text click", do: (*model).switchMouse},
		{id: "suspend", keys: []string{"ctrl+z"}, label: "suspend", in: anywhere,
			effect: "back to the shell for now; fg comes back",
			words:  "background", do: func(*model) tea.Cmd { return tea.Suspend }},
		{id: "palette", keys: []string{":", "ctrl+p"}, label: "command", last: true, move: true, in: anywhere,
			effect: "find anything by its name",
			words:  "palette search", do: func(m *model) tea.Cmd { return m.openFinder(true) }},
		{id: "help", keys: []string{"?"}, label: "help", last: true, in: anywhere,
			effect: "all keys of this view, with what they do",
			words:  "keys shortcuts", do: func(m *model) tea.Cmd { return m.openFinder(false) }},
		{id: "quit", keys: []string{"q", "ctrl+c"}, label: "quit", last: true, in: anywhere,
			effect: "leave; asks first while an operation is under way",
			words:  "exit leave close", do: (*model).quit},
	}
}

// back leaves the search of a view or, without a search, the view.
func (m *model) back() tea.Cmd {
	if m.view == onLogs && m.logs.query.Text != "" {
		m.logs.query.Text = ""
		return nil
	}
	if m.view == onFiles {
		return m.leaveFiles()
	}
	if m.view == onOperation && m.own == nil {
		return m.dismiss()
	}
	if m.view == onOperation {
		m.show(m.below())
	} else {
		m.show(onDashboard)
	}
	return nil
}

// logOfPlace returns the log to open: that of the selected component, or hermes if the component has none. If the box
// does not run, it returns operations.
func (m *model) logOfPlace() string {
	if !m.hasBox() {
		return "operations"
	}
	c, ok := m.selected()
	switch {
	case m.status().State != "running" && m.status().State != "degraded":
		return "operations"
	case ok && slices.Contains(ops.LogSources, c.Name):
		return c.Name
	}
	return "hermes"
}

// openOperation shows the operation of this dashboard, or watches that of another process.
func (m *model) openOperation() tea.Cmd {
	if u := m.others(); u != nil && (m.op == nil || m.op.ended) {
		return m.watch(u)
	}
	m.show(onOperation)
	return nil
}

func whyNoOperation(m *model) string {
	if m.op == nil && m.others() == nil {
		return "nothing is under way"
	}
	return ""
}

func whyNoError(m *model) string {
	if m.lastFailure == nil {
		return "there was none"
	}
	return ""
}

// switchMouse gives the mouse to the terminal, or takes it back.
func (m *model) switchMouse() tea.Cmd {
	m.mouse = !m.mouse
	m.note = "the mouse selects text in the terminal; m gives it back to the dashboard"
	if m.mouse {
		m.note = "the mouse scrolls and selects here; m gives it back to the terminal"
	}
	return nil
}
