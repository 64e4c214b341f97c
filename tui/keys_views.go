package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes-box/tui/widget"
)

// moveBindings returns the bindings that move in a view.
func moveBindings() []binding {
	const far = 1 << 20 // more lines than any view has
	by := func(n int) func(*model) tea.Cmd { return func(m *model) tea.Cmd { return m.move(n) } }
	page := func(sign int) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd { return m.move(sign * max(1, m.h-6)) }
	}
	all := []binding{
		{id: "up", keys: []string{"up", "k"}, label: "up", effect: "move up", do: by(-1)},
		{id: "down", keys: []string{"down", "j"}, label: "down", effect: "move down", do: by(1)},
		{id: "page-up", keys: []string{"pgup", "ctrl+b"}, label: "page up", effect: "move up by a page", do: page(-1)},
		{id: "page-down", keys: []string{"pgdown", "ctrl+f"}, label: "page down", effect: "move down by a page", do: page(1)},
		{id: "top", keys: []string{"g", "home"}, label: "top", effect: "go to the beginning", do: by(-far)},
		{id: "end", keys: []string{"G", "end"}, label: "end", effect: "go to the end; a log then follows", do: by(far)},
	}
	for i := range all {
		all[i].in, all[i].move = anywhere&^onFirst, true
	}
	return all
}

// move moves the selection of the view, or scrolls it.
func (m *model) move(n int) tea.Cmd {
	switch m.view {
	case onDashboard:
		m.dashboard.list.Move(n, len(m.components()))
	case onDetails:
		m.details.scroll.Move(n)
	case onDrift:
		m.drift.scroll.Move(n)
	case onDoctor:
		m.doctor.checks.list.Move(n, len(m.doctor.checks.all))
	case onBackups:
		m.backups.move(m.known.Backups, n)
	case onFiles:
		m.files.move(n)
	case onLogs:
		m.logs.move(n, max(1, m.h-2-3))
	case onOperation:
		m.op.move(n)
	}
	return nil
}

// move scrolls the log of the operation.
func (o *operation) move(n int) {
	if o != nil && o.showLog {
		o.back = min(max(o.back-n, 0), len(o.log))
	}
}

// operationBindings returns the bindings of the view of an operation.
func operationBindings() []binding {
	return []binding{
		{id: "dismiss", keys: []string{"enter"}, label: "close", rank: 1, in: onOperation,
			effect: "close the operation that has ended",
			words:  "close done", why: whyNotDismiss, do: (*model).dismiss},
		{id: "cancel", keys: []string{"x"}, label: "cancel", rank: 2, in: onOperation,
			effect: "cancel the operation safely, after asking; what it made is removed",
			words:  "abort interrupt undo", why: whyNotCancel, do: (*model).askCancel},
		{id: "again", keys: []string{"r"}, label: "try again", rank: 2, in: onOperation,
			effect: "run again what has failed or was canceled",
			words:  "retry repeat", why: whyNotAgain, do: func(m *model) tea.Cmd { return m.pressID(m.op.verb.id) }},
		{id: "log", keys: []string{"l"}, label: "log", rank: 3, in: onOperation,
			effect: "the log of the operation, and back to its plan",
			words:  "output", do: func(m *model) tea.Cmd {
				if m.op != nil {
					m.op.showLog = !m.op.showLog
				}
				return nil
			}},
	}
}

func whyNotDismiss(m *model) string {
	if m.own != nil || m.watching() {
		return "it is under way; esc goes back and leaves it running"
	}
	return ""
}

func whyNotAgain(m *model) string {
	switch {
	case m.own != nil || m.watching():
		return "it is under way"
	case m.op == nil || m.op.err == nil || m.op.verb.id == "":
		return "nothing has failed"
	}
	return ""
}

func whyNotCancel(m *model) string {
	switch {
	case m.watching():
		return "another hermes-box does it; ctrl-c there cancels it"
	case m.own == nil && m.view == onBackups:
		return "nothing is under way"
	case m.own == nil:
		return "it has ended"
	case m.own.canceled:
		return "it is being undone already"
	}
	return ""
}

// logBindings returns the bindings of the logs.
func logBindings() []binding {
	act := func(f func(l *logs)) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd { f(&m.logs); return nil }
	}
	return []binding{
		{id: "source", keys: []string{"tab", "right"}, label: "next log", rank: 1, in: onLogs,
			effect: "the next log", do: func(m *model) tea.Cmd { return m.logs.other(m.worker, 1) }},
		{id: "source-back", keys: []string{"shift+tab", "left"}, label: "previous log", in: onLogs, move: true,
			effect: "the previous log", do: func(m *model) tea.Cmd { return m.logs.other(m.worker, -1) }},
		{id: "search", keys: []string{"/"}, label: "search", rank: 2, in: onLogs,
			effect: "search in the log", words: "find grep filter", do: act(func(l *logs) { l.typing, l.query.Text = true, "" })},
		{id: "next-hit", keys: []string{"n"}, label: "next match", rank: 3, in: onLogs, move: true,
			effect: "the next line that matches the search", why: whyNoQuery, do: act(func(l *logs) { l.find(1) })},
		{id: "hit-before", keys: []string{"N"}, label: "previous match", in: onLogs, move: true,
			effect: "the previous line that matches the search", why: whyNoQuery, do: act(func(l *logs) { l.find(-1) })},
		{id: "follow", keys: []string{"f"}, label: "follow", rank: 4, in: onLogs,
			effect: "follow the end of the log, or stop following it",
			words:  "tail", do: act(func(l *logs) { l.follow = !l.follow })},
		{id: "wrap", keys: []string{"z"}, label: "wrap", rank: 5, in: onLogs,
			effect: "wrap long lines of the log, or cut them",
			words:  "fold long", do: act(func(l *logs) { l.wrap = !l.wrap })},
		{id: "copy-log", keys: []string{"c"}, label: "copy", rank: 6, in: onLogs,
			effect: "copy the lines on the screen", words: "clipboard yank", do: (*model).copyLog},
	}
}

func (m *model) copyLog() tea.Cmd {
	lines := m.logs.onScreen(max(1, m.h-5))
	cmd := m.copy(strings.Join(lines, "\n") + "\n")
	m.note = "copied " + widget.Count(len(lines), "line") + " (if the terminal allows)"
	return cmd
}

func whyNoQuery(m *model) string {
	switch {
	case m.logs.query.Text == "":
		return "search first, with /"
	case len(m.logs.drawn.matches) == 0:
		return "no line matches"
	}
	return ""
}

// doctorBindings returns the bindings of the list of checks.
func doctorBindings() []binding {
	return []binding{
		{id: "copy-repair", keys: []string{"c"}, label: "copy repair", rank: 1, in: onDoctor,
			effect: "copy the repair of the selected check",
			words:  "clipboard yank", why: whyNoRepair, do: (*model).copyRepair},
		{id: "doctor-again", keys: []string{"r"}, label: "check again", rank: 2, in: onDoctor,
			effect: "run all checks again",
			words:  "refresh retry", do: func(m *model) tea.Cmd { return m.doctor.checks.begin(m.worker) }},
	}
}
