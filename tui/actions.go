package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
)

// moveBindings move in a view.
func moveBindings() []binding {
	const lists = onDashboard | onDoctor | onLogs | onDetails | onDrift | onOperation
	by := func(n int) func(*model) tea.Cmd { return func(m *model) tea.Cmd { return m.move(n) } }
	page := func(sign int) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd { return m.move(sign * max(1, m.h-6)) }
	}
	return []binding{
		{id: "up", keys: []string{"up", "k"}, label: "up", effect: "move up", in: lists, move: true, do: by(-1)},
		{id: "down", keys: []string{"down", "j"}, label: "down", effect: "move down", in: lists, move: true, do: by(1)},
		{id: "page-up", keys: []string{"pgup", "ctrl+b"}, label: "page up", effect: "move up by a page", in: lists, move: true, do: page(-1)},
		{id: "page-down", keys: []string{"pgdown", "ctrl+f"}, label: "page down", effect: "move down by a page", in: lists, move: true, do: page(1)},
		{id: "top", keys: []string{"g", "home"}, label: "top", effect: "go to the beginning", in: lists, move: true, do: by(-1 << 30)},
		{id: "end", keys: []string{"G", "end"}, label: "end", effect: "go to the end; a log then follows", in: lists, move: true, do: by(1 << 30)},
	}
}

func (m *model) move(n int) tea.Cmd {
	switch m.view {
	case onDashboard, onDetails:
		if m.view == onDetails {
			return m.scroll(max(-1<<20, min(n, 1<<20)))
		}
		m.dashboard.components.move(n, len(m.components()))
	case onDrift:
		return m.scroll(max(-1<<20, min(n, 1<<20)))
	case onDoctor:
		m.doctor.checks.list.move(n, len(m.doctor.checks.all))
	case onLogs:
		m.logs.move(n, max(1, m.h-2-3))
	case onOperation:
		if m.op != nil && m.op.showLog {
			m.op.back = max(0, min(m.op.back-max(-1<<20, min(n, 1<<20)), len(m.op.log)))
		}
	}
	return nil
}

// viewBindings open the views, and do what is done in one of them alone.
func viewBindings() []binding {
	open := func(view place) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd {
			m.show(view)
			m.details = details{}
			return nil
		}
	}
	all := []binding{
		{id: "begin", keys: []string{"enter"}, label: "make the box", rank: 1, effect: "make the box that the config describes", in: onFirst,
			words: "create begin", why: whyNotCreate, do: func(m *model) tea.Cmd { return m.press(named(m.keys, "create")) }},
		{id: "check-again", keys: []string{"r"}, label: "look again", rank: 2, effect: "check this machine once more", in: onFirst,
			words: "refresh doctor", do: func(m *model) tea.Cmd { return tea.Batch(m.pollNow(), m.firstChecks()) }},
		{id: "details", keys: []string{"enter"}, label: "details", rank: 1, effect: "all about the selected component", in: onDashboard,
			words: "inspect show component digest source version", do: (*model).openDetails},
		{id: "attach", keys: []string{"a"}, label: "attach", rank: 2, effect: "work in the box: this terminal becomes tmux session main; ctrl-b d comes back",
			in: withBox, words: "ssh shell terminal tmux login work enter", why: whyNotAttach, do: (*model).attach},
		{id: "logs", keys: []string{"l"}, label: "logs", rank: 5, effect: "the logs of the box and of what was done to it", in: onFirst | onDashboard | onDetails | onDrift | onDoctor,
			words: "journal tail output commands history operations boot serial", do: func(m *model) tea.Cmd { return m.openLogs(m.logOfPlace()) }},
		{id: "doctor", keys: []string{"d"}, label: "doctor", rank: 6, effect: "check this machine and the box, with evidence and repairs", in: onFirst | onDashboard | onDetails | onDrift | onLogs,
			words: "diagnose check health repair fix problem", do: (*model).openDoctor},
		{id: "drift", keys: []string{"v"}, label: "drift", rank: 8, effect: "the lock against what is applied, and what meeting it takes", in: onDashboard | onDetails,
			words: "difference outdated changes lock", do: open(onDrift)},
		{id: "portal", keys: []string{"p"}, label: "portal", effect: "open Executor's portal in the browser, or with hermes selected its dashboard", in: onDashboard | onDetails,
			words: "open browser web url executor dashboard address", why: whyNoPortal, do: (*model).portal},
		{id: "sign-in", keys: []string{"w"}, label: "sign in", rank: 7, effect: "sign in to the agents, step by step", in: onDashboard,
			words: "login auth account walkthrough token", why: whyNotSignIn, do: func(*model) tea.Cmd { return nil }},
		{id: "operation", keys: []string{"o"}, label: "operation", effect: "back to the operation that is under way", in: withBox | onFirst,
			words: "progress create plan steps", why: func(m *model) string {
				if m.op == nil {
					return "nothing is under way"
				}
				return ""
			}, do: open(onOperation)},
		{id: "dismiss", keys: []string{"enter"}, label: "go on", rank: 1, effect: "put the operation that has ended away", in: onOperation,
			words: "close done", why: func(m *model) string {
				if m.running() {
					return "it is under way; esc leaves it running and shows the box"
				}
				return ""
			}, do: (*model).dismiss},
		{id: "cancel", keys: []string{"x"}, label: "cancel", rank: 2, effect: "cancel the operation safely, after asking; what it made is removed", in: onOperation,
			words: "abort interrupt undo", why: whyNotCancel, do: (*model).askCancel},
		{id: "log", keys: []string{"l"}, label: "log", rank: 3, effect: "the log of the operation, and back to its plan", in: onOperation,
			words: "output", do: func(m *model) tea.Cmd {
				if m.op != nil {
					m.op.showLog = !m.op.showLog
				}
				return nil
			}},
		{id: "source", keys: []string{"tab", "right"}, label: "next log", rank: 1, effect: "the next log", in: onLogs, do: func(m *model) tea.Cmd { return m.logs.other(m, 1) }},
		{id: "source-back", keys: []string{"shift+tab", "left"}, label: "log before", effect: "the log before", in: onLogs, move: true, do: func(m *model) tea.Cmd { return m.logs.other(m, -1) }},
		{id: "search", keys: []string{"/"}, label: "search", rank: 2, effect: "search in the log", in: onLogs, words: "find grep filter", do: func(m *model) tea.Cmd {
			m.logs.typing, m.logs.query = true, ""
			return nil
		}},
		{id: "next-hit", keys: []string{"n"}, label: "next found", rank: 3, effect: "the next line that was searched for", in: onLogs, move: true, why: whyNoQuery, do: func(m *model) tea.Cmd { m.logs.find(1); return nil }},
		{id: "hit-before", keys: []string{"N"}, label: "found before", effect: "the line before that was searched for", in: onLogs, move: true, why: whyNoQuery, do: func(m *model) tea.Cmd { m.logs.find(-1); return nil }},
		{id: "follow", keys: []string{"f"}, label: "follow", rank: 4, effect: "stay at the end of the log as it grows, or stop that", in: onLogs, words: "tail", do: func(m *model) tea.Cmd {
			m.logs.follow = !m.logs.follow
			return nil
		}},
		{id: "wrap", keys: []string{"z"}, label: "wrap", rank: 5, effect: "break long lines of the log, or cut them", in: onLogs, words: "fold long", do: func(m *model) tea.Cmd {
			m.logs.wrap = !m.logs.wrap
			return nil
		}},
		{id: "copy-log", keys: []string{"c"}, label: "copy", rank: 6, effect: "copy the lines on the screen", in: onLogs, words: "clipboard yank", do: (*model).copyLog},
		{id: "copy-repair", keys: []string{"c"}, label: "copy repair", rank: 1, effect: "copy the repair of the selected check", in: onDoctor, words: "clipboard yank", why: whyNoRepair, do: (*model).copyRepair},
		{id: "doctor-again", keys: []string{"r"}, label: "check again", rank: 2, effect: "make all checks once more", in: onDoctor, words: "refresh retry", do: func(m *model) tea.Cmd { return m.doctor.checks.begin(m) }},
		{id: "refresh", keys: []string{"r"}, label: "refresh", effect: "ask the box once more, now", in: onDashboard | onDetails | onDrift, words: "reload update now", do: (*model).pollNow},
	}
	for i := range 3 {
		all = append(all, binding{id: fmt.Sprint("next-", i+1), keys: []string{fmt.Sprint(i + 1)}, label: fmt.Sprint("next ", i+1),
			effect: fmt.Sprintf("do suggestion %d of what to do next", i+1), in: onDashboard, move: true,
			do: func(m *model) tea.Cmd { return m.follow(i) }})
	}
	return all
}

// commonBindings are the same everywhere.
func commonBindings() []binding {
	return []binding{
		{id: "back", keys: []string{"esc", "backspace"}, label: "back", last: true, effect: "back to the box", in: onDetails | onDrift | onLogs | onDoctor | onOperation,
			words: "close dashboard home", move: true, do: (*model).back},
		{id: "error", keys: []string{"e"}, label: "last error", effect: "show the last error again", in: anywhere, words: "failure what happened", why: func(m *model) string {
			if m.lastFailure == nil {
				return "there was none"
			}
			return ""
		}, do: (*model).again},
		{id: "mouse", keys: []string{"m"}, label: "mouse", effect: "give the mouse back to the terminal, to select text, or take it again", in: anywhere, words: "select copy text click", do: func(m *model) tea.Cmd {
			m.mouse = !m.mouse
			m.note = "the mouse selects text, as the terminal does; m takes it back"
			if m.mouse {
				m.note = "the mouse scrolls and selects here; m gives it back to the terminal"
			}
			return nil
		}},
		{id: "suspend", keys: []string{"ctrl+z"}, label: "suspend", effect: "back to the shell for now; fg comes back", in: anywhere, words: "background", do: func(*model) tea.Cmd { return tea.Suspend }},
		{id: "palette", keys: []string{":", "ctrl+p"}, label: "command", last: true, effect: "find anything by its name", in: anywhere, words: "palette search", move: true,
			do: func(m *model) tea.Cmd { return m.openFinder(true) }},
		{id: "help", keys: []string{"?"}, label: "help", last: true, effect: "all keys of this place, with what they do", in: anywhere, words: "keys shortcuts", move: true,
			do: func(m *model) tea.Cmd { return m.openFinder(false) }},
		{id: "quit", keys: []string{"q", "ctrl+c"}, label: "quit", last: true, effect: "leave; asks first while an operation is under way", in: anywhere, words: "exit leave close",
			do: (*model).quit},
	}
}

// back leaves a view; what only it needs ends.
func (m *model) back() tea.Cmd {
	if m.view == onOperation && !m.running() {
		return m.dismiss()
	}
	m.show(onDashboard)
	return nil
}

// logOfPlace is the log that is most likely wanted: that of the selected component, where it has one.
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

func (m *model) copyLog() tea.Cmd {
	lines := m.logs.drawn.lines
	to := min(len(lines), m.logs.top+max(1, m.h-5))
	text := ""
	for _, line := range lines[min(m.logs.top, to):to] {
		text += line + "\n"
	}
	cmd := m.copy(text)
	m.note = fmt.Sprintf("copied %d lines (if the terminal allows)", to-min(m.logs.top, to))
	return cmd
}

func whyNoQuery(m *model) string {
	if m.logs.query == "" {
		return "/ searches first"
	}
	return ""
}

func whyNotCancel(m *model) string {
	switch {
	case !m.running():
		return "it has ended"
	case m.op.canceled:
		return "it is being undone already"
	}
	return ""
}

// whyNotSignIn names what to type until the walkthrough is here.
func whyNotSignIn(m *model) string {
	for _, c := range m.status().Components {
		if c.State == protocol.SetupRequired && signIn[c.Name] != "" {
			return "not in the dashboard yet: " + m.typed(signIn[c.Name])
		}
	}
	return "not in the dashboard yet; nothing asks for it"
}
