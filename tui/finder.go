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

// finder lists what can be done and does what is chosen. As help it begins with all keys of this place; as palette it
// has every action, and is for those who know what they want but not its key. Typing narrows both.
type finder struct {
	palette bool
	query   string
	list    widget.List
}

func (m *model) openFinder(palette bool) tea.Cmd {
	m.finder = &finder{palette: palette}
	return nil
}

// found are the bindings that the query leaves, the best first.
func (f *finder) found(m *model) []binding {
	var all []binding
	at := m.place()
	for _, b := range m.keys {
		if b.move && f.palette {
			continue
		}
		if b.in&at != 0 {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b binding) int { return order(a) - order(b) })
	for _, b := range m.keys { // what is done elsewhere comes after
		if b.in&at == 0 && !b.move && !slices.ContainsFunc(all, func(have binding) bool { return have.label == b.label }) {
			b.why = elsewhere(b)
			all = append(all, b)
		}
	}
	if f.query == "" {
		return all
	}
	type hit struct {
		binding
		score int
	}
	var hits []hit
	for _, b := range all {
		best, ok := 0, false
		if at := strings.Index(strings.ToLower(b.effect), strings.ToLower(f.query)); at >= 0 { // letters strewn over a sentence are no word of it
			best, ok = -at, true
		}
		for _, text := range append([]string{b.label}, strings.Fields(b.words)...) {
			for _, match := range fuzzy.Find(f.query, []string{text}) {
				score := match.Score
				if strings.HasPrefix(strings.ToLower(text), strings.ToLower(f.query)) {
					score += 100
					if text == b.label {
						score += 100 // its name, and not another word for it
					}
				}
				if !ok || score > best {
					best, ok = score, true
				}
			}
		}
		if slices.Contains(b.keys, f.query) && !f.palette { // it is the key itself that is asked for
			best, ok = best+300, true
		}
		if b.reason(m) != "" { // what can be done now comes first, unless the other is named in full
			best -= 150
		}
		if ok {
			hits = append(hits, hit{b, best})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	out := make([]binding, len(hits))
	for i, h := range hits {
		out[i] = h.binding
	}
	return out
}

// order has what can be done before what moves.
func order(b binding) int {
	if b.move {
		return 1
	}
	return 0
}

// elsewhere is why a binding of another place cannot be pressed here.
func elsewhere(b binding) func(*model) string {
	return func(m *model) string {
		switch {
		case !m.hasBox() && b.in&onFirst == 0:
			return "there is no box yet"
		case b.why != nil && b.why(m) != "":
			return b.why(m)
		case b.in&onDashboard != 0:
			return "" // the palette goes there first
		}
		for at, name := range map[place]string{onLogs: "the logs", onDoctor: "doctor", onOperation: "an operation"} {
			if b.in == at {
				return "it is for " + name
			}
		}
		return "not here"
	}
}

func (f *finder) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	all := f.found(m)
	switch name := k.String(); name {
	case "esc", "ctrl+c":
		if f.query != "" && !f.palette {
			f.query, f.list = "", widget.List{}
			return nil
		}
		m.finder = nil
	case "up", "ctrl+p":
		f.list.Move(-1, len(all))
	case "down", "ctrl+n":
		f.list.Move(1, len(all))
	case "pgup":
		f.list.Move(-10, len(all))
	case "pgdown":
		f.list.Move(10, len(all))
	case "backspace":
		if r := []rune(f.query); len(r) > 0 {
			f.query, f.list = string(r[:len(r)-1]), widget.List{}
		}
	case "ctrl+u":
		f.query, f.list = "", widget.List{}
	case "enter":
		if f.list.At >= len(all) {
			return nil
		}
		b := all[f.list.At]
		m.finder = nil
		if b.reason(m) == "" && b.in&m.place() == 0 && b.in&onDashboard != 0 {
			m.show(onDashboard)
		}
		return m.press(b)
	case "?":
		if f.query == "" && !f.palette {
			m.finder = nil
			return nil
		}
		f.add("?")
	default:
		if k.Text != "" {
			f.add(k.Text)
		}
	}
	return nil
}

// add narrows what is found.
func (f *finder) add(text string) { f.query, f.list = typed(f.query, text), widget.List{} }

// keyLine is what a binding does, or why it does not, after its keys in a column of w cells.
func (m *model) keyLine(keys string, w int, b binding) string {
	keys, label := widget.Fit(keys, w), widget.Fit(b.label, 15)
	if why := b.reason(m); why != "" {
		return m.theme.Dim.Render(keys + label + "– " + why)
	}
	return m.theme.Key.Render(keys) + label + m.theme.Dim.Render(b.effect)
}

// keyLines are what can be pressed on the dashboard now, for a terminal that has room to say so.
func (m *model) keyLines(w int) (out []string) {
	for _, b := range m.keys {
		if b.in&onDashboard != 0 && !b.move && b.reason(m) == "" {
			out = append(out, widget.Fit(m.keyLine(shown(b.keys[0]), 11, b), w))
		}
	}
	return out
}

// shownKeys are the keys of a binding, at most two.
func shownKeys(b binding) string {
	var keys []string
	for _, k := range b.keys[:min(2, len(b.keys))] {
		keys = append(keys, shown(k))
	}
	return strings.Join(keys, " ")
}

// view is the inside of the overlay: w cells, at most h lines.
func (f *finder) view(m *model, w, h int) []string {
	t := m.theme
	prompt := t.Accent.Render(": ") + widget.Clean(f.query) + t.Match.Render(" ")
	if !f.palette {
		prompt = t.Dim.Render("type to search, enter does it, esc closes")
		if f.query != "" {
			prompt = t.Accent.Render("/ ") + widget.Clean(f.query) + t.Match.Render(" ")
		}
	}
	all := f.found(m)
	out := []string{prompt}
	keysW := 0 // the same whatever is typed
	for _, b := range m.keys {
		if !b.move || !f.palette {
			keysW = max(keysW, ansi.StringWidth(shownKeys(b))+2)
		}
	}
	const below = 3 // what the marked one does, in full
	from, to := f.list.Window(len(all), max(1, h-1-below))
	for i := from; i < to; i++ {
		b := all[i]
		mark := "  "
		if i == f.list.At {
			mark = t.Accent.Render("▸ ")
		}
		out = append(out, widget.Fit(mark+m.keyLine(shownKeys(b), keysW, b), w))
	}
	if len(all) == 0 {
		out = append(out, t.Dim.Render(fmt.Sprintf("nothing is called %q; esc closes", widget.Clean(f.query))))
		return out
	}
	for len(out) < h-below {
		out = append(out, "")
	}
	about := all[f.list.At].effect
	if why := all[f.list.At].reason(m); why != "" {
		about += " – not now: " + why
	}
	rule := strings.Repeat("─", max(0, w))
	if more := len(all) - to; more > 0 {
		rule = ansi.Truncate("── ↓ "+fmt.Sprint(more)+" more "+rule, max(0, w), "")
	}
	out = append(out, t.Border.Render(rule))
	return append(out, widget.Wrap(widget.Clean(about), w)...)
}
