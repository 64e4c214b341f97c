package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/internal/spell"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// drawn caches the log as lines of the screen. draw adds new lines to it, and begins anew if the width or the wrapping
// has changed.
type drawn struct {
	lines   []string
	from    int // how many lines of the log are in it
	w       int
	wrap    bool
	query   string
	matches []int // the lines that match the query
}

// draw brings the cache up to date and returns its lines. It wraps only new lines of the log.
func (l *logs) draw(w int) []string {
	d := &l.drawn
	if d.w != w || d.wrap != l.wrap || d.from > len(l.lines) {
		*d = drawn{w: w, wrap: l.wrap}
		l.match = 0
	}
	if d.query != l.query.Text {
		d.query, d.matches, l.match = l.query.Text, nil, 0
		for i, line := range d.lines {
			d.search(i, line)
		}
	}
	for ; d.from < len(l.lines); d.from++ {
		parts := []string{l.lines[d.from]}
		if l.wrap {
			parts = strings.Split(ansi.Hardwrap(parts[0], max(1, w), true), "\n")
		}
		for _, line := range parts {
			d.search(len(d.lines), line)
			d.lines = append(d.lines, line)
		}
	}
	return d.lines
}

// search records a line if it matches the query.
func (d *drawn) search(i int, line string) {
	if d.query != "" && strings.Contains(strings.ToLower(line), strings.ToLower(d.query)) {
		d.matches = append(d.matches, i)
	}
}

// view draws exactly h lines of w cells.
func (l *logs) view(p page, w, h int) []string {
	lines := l.draw(w - 4)
	room := max(1, h-3)
	last := max(0, len(lines)-room)
	if l.follow {
		l.top = last
	}
	l.top = max(0, min(l.top, last))
	to := min(len(lines), l.top+room)
	var body []string
	switch {
	case len(lines) == 0 && l.err != nil:
		body = append(widget.Wrap(widget.Clean(l.err.Error()), w-4), p.hint(l.err, w-4)...)
	case len(lines) == 0 && l.feed != nil:
		body = append(body, p.Dim.Render("reading..."))
	case len(lines) == 0:
		body = append(body, p.Dim.Render("it is empty"))
	}
	for i := l.top; i < to; i++ {
		ink := p.Accent
		if l.match > 0 && l.drawn.matches[l.match-1] == i {
			ink = p.Match
		}
		body = append(body, l.marked(ink, lines[i], w-4))
	}
	return append([]string{l.tabs(p, w)}, p.Focused().Panel(l.title(p, to), w, h-1, body)...)
}

// tabs draws the names of the logs.
func (l *logs) tabs(p page, w int) string {
	var tabs []string
	for _, s := range ops.LogSources {
		if s == l.source {
			tabs = append(tabs, p.Accent.Render("▸ "+s))
		} else {
			tabs = append(tabs, p.Dim.Render(s))
		}
	}
	return widget.Fit(strings.Join(tabs, "  "), w)
}

// title returns the title of the panel: the name of the log, which lines are shown, and the match of the search.
func (l *logs) title(p page, to int) string {
	title, n := p.Title.Render("log of "+l.source), len(l.drawn.lines)
	switch {
	case n == 0:
	case l.follow:
		title += p.Good.Render("  ↓ follows") + p.Dim.Render("  "+widget.Count(n, "line"))
	default:
		title += p.Dim.Render("  " + fromTo(l.top, to, n) + " lines")
	}
	query := widget.Clean(l.query.Text)
	switch {
	case l.typing:
		title += "  /" + query + p.Match.Render(" ")
	case l.match > 0:
		title += p.Warn.Render(fmt.Sprintf("  /%s: match %d of %d", query, l.match, len(l.drawn.matches)))
	case query != "":
		title += p.Warn.Render(fmt.Sprintf("  /%s: %s found", query, spell.Count(len(l.drawn.matches), "line")))
	}
	return title
}

// marked draws a line and highlights the matches of the query with ink.
func (l *logs) marked(ink widget.Ink, line string, w int) string {
	line = ansi.Truncate(line, w, "…")
	if l.query.Text == "" {
		return line
	}
	var b strings.Builder
	low, query := strings.ToLower(line), strings.ToLower(l.query.Text)
	if len(low) != len(line) { // lower case has another length: the positions would differ
		return line
	}
	for {
		i := strings.Index(low, query)
		if i < 0 {
			return b.String() + line
		}
		b.WriteString(line[:i] + ink.Render(line[i:i+len(query)]))
		line, low = line[i+len(query):], low[i+len(query):]
	}
}

// onScreen returns the lines that are on the screen, at most n.
func (l *logs) onScreen(n int) []string {
	to := min(len(l.drawn.lines), l.top+n)
	return l.drawn.lines[min(l.top, to):to]
}

// move scrolls and stops following. At the end of the log it follows again.
func (l *logs) move(by, room int) {
	last := max(0, len(l.drawn.lines)-room)
	l.top = max(0, min(l.top+by, last))
	l.follow = l.top == last && by > 0
	l.match = 0
}

// typeKey handles a key while the search is typed.
func (l *logs) typeKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		l.typing = false
		l.find(1)
	case "esc", "ctrl+c":
		l.typing, l.query = false, widget.Line{}
	default:
		l.query.Key(k)
	}
}

// find jumps to the next match, or with -1 to the previous one. It starts from the match that it jumped to last or, if
// there is none, from the screen. After the last match it jumps to the first.
func (l *logs) find(by int) {
	l.draw(max(1, l.drawn.w))
	matches := l.drawn.matches
	n := len(matches)
	if n == 0 {
		return
	}
	l.follow = false
	if l.match == 0 {
		l.match, _ = slices.BinarySearch(matches, l.top) // number of matches above the screen
		by = max(by, 0)
	}
	l.match = (l.match-1+by+n)%n + 1
	l.top = matches[l.match-1]
}
