package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// drawn is the log cut into lines of the screen, kept as long as neither log nor width change.
type drawn struct {
	lines []string
	from  int // how many lines of the log are in it
	w     int
	wrap  bool
	query string
	hits  []int
}

// draw brings the cut up to date; only what is new is cut.
func (l *logs) draw(w int) []string {
	d := &l.drawn
	if d.w != w || d.wrap != l.wrap || d.from > len(l.lines) {
		*d = drawn{w: w, wrap: l.wrap}
		l.nth = 0
	}
	if d.query != l.query {
		d.query, d.hits, l.nth = l.query, nil, 0
		for i, line := range d.lines {
			l.hit(i, line)
		}
	}
	for ; d.from < len(l.lines); d.from++ {
		parts := []string{l.lines[d.from]}
		if l.wrap {
			parts = strings.Split(ansi.Hardwrap(parts[0], max(1, w), true), "\n")
		}
		for _, line := range parts {
			l.hit(len(d.lines), line)
			d.lines = append(d.lines, line)
		}
	}
	l.hits = d.hits
	return d.lines
}

func (l *logs) hit(i int, line string) {
	if l.query != "" && strings.Contains(strings.ToLower(line), strings.ToLower(l.query)) {
		l.drawn.hits = append(l.drawn.hits, i)
	}
}

// logsView is exactly h lines of w cells.
func (m *model) logsView(w, h int) []string {
	t, l := m.theme, &m.logs
	lines := l.draw(w - 4)
	room := max(1, h-3)
	last := max(0, len(lines)-room)
	if l.follow {
		l.top = last
	}
	l.top = max(0, min(l.top, last))
	var tabs []string
	for _, s := range ops.LogSources {
		if s == l.source {
			tabs = append(tabs, t.Accent.Render("▸ "+s))
		} else {
			tabs = append(tabs, t.Dim.Render(s))
		}
	}
	out := []string{widget.Fit(strings.Join(tabs, "  "), w)}
	title := t.Title.Render("log of " + l.source)
	switch {
	case len(lines) == 0:
	case l.follow:
		title += t.Good.Render("  ↓ follows") + t.Dim.Render("  "+widget.Count(len(lines), "line"))
	default:
		title += t.Dim.Render(fmt.Sprintf("  %d to %d of %d lines", l.top+1, min(len(lines), l.top+room), len(lines)))
	}
	switch {
	case l.typing:
		title += "  /" + widget.Clean(l.query) + t.Match.Render(" ")
	case l.nth > 0:
		title += t.Warn.Render(fmt.Sprintf("  /%s: %d of %d found", widget.Clean(l.query), l.nth, len(l.hits)))
	case l.query != "":
		title += t.Warn.Render(fmt.Sprintf("  /%s: %d found", widget.Clean(l.query), len(l.hits)))
	}
	var body []string
	switch {
	case len(lines) == 0 && l.err != nil:
		body = append(widget.Wrap(widget.Clean(l.err.Error()), w-4), m.hint(l.err, w-4)...)
	case len(lines) == 0 && l.feed != nil:
		body = append(body, t.Dim.Render("reading..."))
	case len(lines) == 0:
		body = append(body, t.Dim.Render("it is empty"))
	}
	for i := l.top; i < min(len(lines), l.top+room); i++ {
		ink := t.Accent
		if l.nth > 0 && l.hits[l.nth-1] == i {
			ink = t.Match
		}
		body = append(body, l.marked(ink, lines[i], w-4))
	}
	return append(out, t.Panel(title, w, h-1, body)...)
}

// marked is a line with what was searched for in that ink.
func (l *logs) marked(found widget.Ink, line string, w int) string {
	line = ansi.Truncate(line, w, "…")
	if l.query == "" {
		return line
	}
	var b strings.Builder
	low, query := strings.ToLower(line), strings.ToLower(l.query)
	if len(low) != len(line) { // a letter whose small form is longer: not worth the trouble
		return line
	}
	for {
		i := strings.Index(low, query)
		if i < 0 {
			return b.String() + line
		}
		b.WriteString(line[:i] + found.Render(line[i:i+len(query)]))
		line, low = line[i+len(query):], low[i+len(query):]
	}
}

// move scrolls; that ends following, and the end of the log takes it up again.
func (l *logs) move(by, room int) {
	last := max(0, len(l.drawn.lines)-room)
	l.top = max(0, min(l.top+by, last))
	l.follow = l.top == last && by > 0
	l.nth = 0
}

// typeKey is a key of the search.
func (l *logs) typeKey(k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "enter":
		l.typing = false
		l.find(1)
	case "esc", "ctrl+c":
		l.typing, l.query = false, ""
	case "backspace":
		if r := []rune(l.query); len(r) > 0 {
			l.query = string(r[:len(r)-1])
		}
	case "ctrl+u":
		l.query = ""
	default:
		l.query = typed(l.query, k.Text)
	}
	return nil
}

// find goes to the next line that holds the query, or with -1 to the one before: of the one it has gone to last, else of
// what is on the screen. Behind the last comes the first.
func (l *logs) find(by int) {
	l.draw(max(1, l.drawn.w))
	n := len(l.hits)
	if n == 0 {
		return
	}
	l.follow = false
	if l.nth == 0 {
		l.nth, _ = slices.BinarySearch(l.hits, l.top) // as many as are above the screen
		by = max(by, 0)
	}
	l.nth = (l.nth-1+by+n)%n + 1
	l.top = l.hits[l.nth-1]
}
