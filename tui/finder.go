package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/sahilm/fuzzy"

	"hermes-box/tui/widget"
)

// finder is a list of actions from which the user chooses one to run. Typing filters the list. Help and the palette are
// both finders; the palette leaves out the keys that only move in a view.
type finder struct {
	palette bool
	query   widget.Line
	list    widget.List
}

// offer is a binding in the list of the finder.
type offer struct {
	binding
	why  string // why it is refused now; empty if it is not
	here bool   // it works in this place
}

func (m *model) openFinder(palette bool) tea.Cmd {
	m.finder = &finder{palette: palette}
	return nil
}

// offers returns the bindings for the finder: those of this place, those that move in it, then those of other places. A
// binding of another place is left out if it moves, or if a binding of this place has the same label.
func (m *model) offers() []offer {
	var here, moves, rest []offer
	at := m.place()
	for _, b := range m.keys {
		switch o := (offer{b, b.reason(m), b.in&at != 0}); {
		case o.here && b.move:
			moves = append(moves, o)
		case o.here:
			here = append(here, o)
		}
	}
	for _, b := range m.keys {
		if b.in&at == 0 && !b.move && !slices.ContainsFunc(here, func(o offer) bool { return o.label == b.label }) {
			rest = append(rest, offer{b, m.whyElsewhere(b), false})
		}
	}
	return slices.Concat(here, moves, rest)
}

// whyElsewhere returns why a binding of another place is refused here; empty if it is not.
func (m *model) whyElsewhere(b binding) string {
	switch why := b.reason(m); {
	case !m.hasBox() && b.in&(onFirst|onBackups) == 0:
		return "there is no box yet"
	case why != "":
		return why
	case b.in&(onDashboard|onBackups) != 0:
		return "" // the palette goes there first
	}
	for at, name := range map[place]string{onLogs: "the logs", onDoctor: "doctor", onBackups: "the backups", onFiles: "the files of a backup", onOperation: "an operation"} {
		if b.in == at {
			return "only in " + name
		}
	}
	return "not here"
}

// finderKey handles a key while the finder is open, and runs the action that it chooses.
func (m *model) finderKey(k tea.KeyPressMsg) tea.Cmd {
	chosen, closed := m.finder.key(k, m.offers())
	if closed {
		m.finder = nil
	}
	if chosen == nil {
		return nil
	}
	var opened tea.Cmd
	switch {
	case chosen.why != "" || chosen.here:
	case chosen.in&onDashboard != 0:
		m.show(onDashboard)
	case chosen.in&onBackups != 0:
		opened = m.openBackups()
	}
	return tea.Batch(opened, m.press(chosen.binding))
}

// found returns the offers that match the query, the best first. It returns none for an action that this version lacks:
// letters scattered over another name would match.
func (f *finder) found(all []offer) []offer {
	if f.lacking() != "" {
		return nil
	}
	var hits []offer
	score := map[string]int{}
	for _, o := range all {
		if o.move && f.palette {
			continue
		}
		s, ok := f.score(o)
		if f.query.Text == "" || ok {
			hits, score[o.id] = append(hits, o), s
		}
	}
	if f.query.Text != "" {
		slices.SortStableFunc(hits, func(a, b offer) int { return cmp.Compare(score[b.id], score[a.id]) })
	}
	return hits
}

// score returns how well an offer matches the query, or false if it does not.
func (f *finder) score(o offer) (best int, ok bool) {
	query := strings.ToLower(f.query.Text)
	if at := strings.Index(strings.ToLower(o.effect), query); at >= 0 { // not fuzzy: almost any query would match a sentence
		best, ok = -at, true
	}
	if strings.Contains(o.label, query) {
		best, ok = 60, true
	}
	for _, text := range append([]string{o.label}, strings.Fields(o.words)...) {
		for _, match := range fuzzy.Find(f.query.Text, []string{text}) {
			score := match.Score
			if strings.HasPrefix(strings.ToLower(text), query) {
				score += 100
				if text == o.label {
					score += 100 // its name, not a synonym
				}
			}
			if !ok || score > best {
				best, ok = score, true
			}
		}
	}
	if slices.Contains(o.keys, f.query.Text) && !f.palette { // the key itself
		best, ok = best+300, true
	}
	if o.why != "" { // available actions come first, unless the query is the full name of another one
		best -= 150
	}
	return best, ok
}

// key handles a key. It returns the offer that was chosen, if any, and whether the finder closes.
func (f *finder) key(k tea.KeyPressMsg, offers []offer) (chosen *offer, closed bool) {
	all := f.found(offers)
	switch name := k.String(); name {
	case "esc", "ctrl+c":
		if f.query.Text == "" || f.palette {
			return nil, true
		}
		f.query, f.list = widget.Line{}, widget.List{}
	case "up", "ctrl+p":
		f.list.Move(-1, len(all))
	case "down", "ctrl+n":
		f.list.Move(1, len(all))
	case "pgup":
		f.list.Move(-10, len(all))
	case "pgdown":
		f.list.Move(10, len(all))
	case "enter":
		if f.list.At < len(all) {
			return &all[f.list.At], true
		}
	default:
		if name == "?" && f.query.Text == "" && !f.palette {
			return nil, true
		}
		if f.query.Key(k) {
			f.list = widget.List{}
		}
	}
	return nil, false
}

// add appends a pasted text to the query.
func (f *finder) add(text string) {
	f.query.Add(text)
	f.list = widget.List{}
}

// keyLine draws a binding: its keys in a column of w cells, its label, and its effect or why it is refused.
func (p page) keyLine(keys string, w int, b binding, why string) string {
	keys, label := widget.Fit(keys, w), widget.Fit(b.label, 16)
	if why != "" {
		return p.Dim.Render(keys + label + "– " + why)
	}
	return p.Key.Render(keys) + label + p.Dim.Render(b.effect)
}

// shownKeys returns all keys of a binding.
func shownKeys(b binding) string {
	var all []string
	for _, key := range b.keys {
		all = append(all, shown(key))
	}
	return strings.Join(all, " ")
}

// view draws the inside of the overlay: w cells, at most h lines.
func (f *finder) view(p page, offers []offer, w, h int) []string {
	prompt := p.Accent.Render(": ") + widget.Clean(f.query.Text) + p.Match.Render(" ")
	if !f.palette {
		prompt = p.Dim.Render("type to search, enter does it, esc closes")
		if f.query.Text != "" {
			prompt = p.Accent.Render("/ ") + widget.Clean(f.query.Text) + p.Match.Render(" ")
		}
	}
	all := f.found(offers)
	if len(all) == 0 {
		return append([]string{prompt}, f.nothing(p, w)...)
	}
	out := []string{prompt}
	keysW := 0 // does not depend on the query
	for _, o := range offers {
		if !o.move || !f.palette {
			keysW = max(keysW, ansi.StringWidth(shownKeys(o.binding))+2)
		}
	}
	const below = 3 // for the whole effect of the selected action
	from, to := f.list.Window(len(all), max(1, h-1-below))
	for i := from; i < to; i++ {
		mark := "  "
		if i == f.list.At {
			mark = p.Accent.Render("▸ ")
		}
		out = append(out, widget.Fit(mark+p.keyLine(shownKeys(all[i].binding), keysW, all[i].binding, all[i].why), w))
	}
	for len(out) < h-below {
		out = append(out, "")
	}
	about := all[f.list.At].effect
	if why := all[f.list.At].why; why != "" {
		about += " – not now: " + why
	}
	rule := strings.Repeat("─", max(0, w))
	if more := len(all) - to; more > 0 {
		rule = ansi.Truncate("── ↓ "+fmt.Sprint(more)+" more "+rule, max(0, w), "")
	}
	out = append(out, p.Border.Render(rule))
	return append(out, widget.Wrap(widget.Clean(about), w)...)
}

// instead holds actions that this version lacks, each with a text that says what to do instead.
var instead = []struct{ words, text string }{
	{"upgrade update rollback rebuild", "Not part of this version: drift (v) shows what the lock changes."},
}

// nothing returns the text for a query without matches.
func (f *finder) nothing(p page, w int) []string {
	if text := f.lacking(); text != "" {
		return append([]string{""}, widget.Wrap(p.typed(text), w)...)
	}
	return []string{p.Dim.Render(fmt.Sprintf("nothing is called %q; esc closes", widget.Clean(f.query.Text)))}
}

// lacking returns what to do instead of an action that this version lacks; empty if the query is not the beginning of
// such an action.
func (f *finder) lacking() string {
	query := strings.ToLower(strings.TrimSpace(f.query.Text))
	for _, i := range instead {
		for _, word := range strings.Fields(i.words) {
			if len(query) >= 3 && strings.HasPrefix(word, query) {
				return i.text
			}
		}
	}
	return ""
}
