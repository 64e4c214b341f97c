package tui

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/tui/widget"
)

// place is where the person is; a binding names those it is for.
type place uint

// The places.
const (
	onFirst place = 1 << iota // no box yet
	onDashboard
	onOperation
	onDetails
	onDrift
	onLogs
	onDoctor

	anywhere = onFirst | onDashboard | onOperation | onDetails | onDrift | onLogs | onDoctor
	withBox  = onDashboard | onDetails | onDrift | onLogs | onDoctor
)

// binding is one thing that can be done, and all that is said about it anywhere: the footer, the list of keys, the
// palette and the README are drawn from the one table of them.
type binding struct {
	id     string
	keys   []string // as Bubble Tea names them; the first is shown
	label  string   // one or two words, for the footer
	effect string   // one line: what it will do
	words  string   // other words for it, for the palette
	in     place
	rank   int                   // place in the footer, 1 first; 0: not in it
	last   bool                  // at the end of the footer, and never left out of it
	move   bool                  // moves in a view: not for the palette
	why    func(m *model) string // why it cannot be done now; empty: it can
	do     func(m *model) tea.Cmd
}

// shown is how a key is written for a person.
func shown(key string) string {
	switch key {
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	}
	return key
}

func (b binding) reason(m *model) string {
	if b.why == nil {
		return ""
	}
	return b.why(m)
}

// find is the binding of a key in a place.
func find(table []binding, at place, key string) (binding, bool) {
	i := slices.IndexFunc(table, func(b binding) bool { return b.in&at != 0 && slices.Contains(b.keys, key) })
	if i < 0 {
		return binding{}, false
	}
	return table[i], true
}

// elsewhere says why a key that has a meaning in another place has none here; empty where it has none at all.
func (m *model) elsewhere(key string) string {
	b, ok := find(m.keys, anywhere, key)
	switch {
	case !ok || b.move:
		return ""
	case b.id == "operation":
		return b.label + ": it is on the screen"
	case !m.hasBox() && b.in&withBox != 0:
		return b.label + ": there is no box yet"
	}
	return b.label + ": not in this view"
}

// named is the binding of that id.
func named(table []binding, id string) binding {
	return table[slices.IndexFunc(table, func(b binding) bool { return b.id == id })]
}

// press does what a binding is for, or says why not.
func (m *model) press(b binding) tea.Cmd {
	if why := b.reason(m); why != "" {
		m.note = fmt.Sprintf("%s: %s", b.label, why)
		return nil
	}
	return b.do(m)
}

// footer is as many bindings as fit into w cells of those that can be pressed here: what this place alone has, then the
// most useful. Those that cannot be pressed now are in the list of keys, with the reason.
func (m *model) footer(w int) string {
	if m.note != "" {
		return widget.Fit(m.theme.Warn.Render(widget.Clean(m.note)), w)
	}
	switch {
	case m.failure != nil || m.dialog != nil || m.finder != nil: // it says its own keys; those of the view do nothing
		return ""
	case m.view == onLogs && m.logs.typing:
		return widget.Fit(m.theme.Key.Render("enter")+" finds it  "+m.theme.Key.Render("esc")+" leaves the search", w)
	}
	at := m.place()
	var all, ends []binding
	for _, b := range m.keys {
		switch {
		case b.in&at == 0 || b.reason(m) != "":
		case b.last:
			ends = append(ends, b)
		case b.rank > 0:
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b binding) int {
		return cmp.Or(cmp.Compare(min(bits.OnesCount(uint(a.in)), 2), min(bits.OnesCount(uint(b.in)), 2)), cmp.Compare(a.rank, b.rank))
	})
	text := func(b binding) string { return m.theme.Key.Render(shown(b.keys[0])) + " " + b.label }
	const gap = 2
	var parts, tail []string
	for _, b := range ends {
		tail = append(tail, text(b))
		w -= ansi.StringWidth(text(b)) + gap
	}
	for _, b := range all {
		s := text(b)
		if n := ansi.StringWidth(s) + gap; n <= w+gap {
			parts, w = append(parts, s), w-n
		}
	}
	return strings.Join(append(parts, tail...), strings.Repeat(" ", gap))
}

// placeNames are the places as a person calls them, in the order of the README.
var placeNames = []struct {
	at   place
	name string
}{
	{onFirst, "no box yet"}, {onDashboard, "the box"}, {onDetails, "a component"}, {onDrift, "drift"}, {onOperation, "an operation"},
	{onLogs, "logs"}, {onDoctor, "doctor"}, {anywhere, "anywhere"},
}

// Keys is the list of keys as the README has it: a table in Markdown, a row for each place with what is only there, or
// said of it first.
func Keys() string {
	var b strings.Builder
	b.WriteString("| where | keys |\n|---|---|\n")
	said := map[string]bool{}
	for _, p := range placeNames {
		var cells []string
		for _, k := range bindings() {
			everywhere := k.last || bits.OnesCount(uint(k.in)) > 5
			if k.in&p.at == 0 || said[k.id] || k.move && p.at != anywhere && k.in != p.at || everywhere != (p.at == anywhere) {
				continue
			}
			said[k.id] = true
			cells = append(cells, fmt.Sprintf("`%s` %s", shown(k.keys[0]), k.label))
		}
		if len(cells) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", p.name, strings.Join(cells, ", "))
		}
	}
	return b.String()
}
