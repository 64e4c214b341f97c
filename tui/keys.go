package tui

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/tui/widget"
)

// place is a set of views. A binding names the places where it works.
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
	onBackups
	onFiles

	anywhere = onFirst | onDashboard | onOperation | onDetails | onDrift | onLogs | onDoctor | onBackups | onFiles
	withBox  = onDashboard | onDetails | onDrift | onLogs | onDoctor | onBackups
)

// binding is one action with its keys and texts. The footer, the list of keys, the palette and the README are made
// from one table of bindings.
type binding struct {
	id     string
	keys   []string // as Bubble Tea names them; the first is shown; none: only in the palette
	label  string   // one or two words, for the footer
	effect string   // what it does, in one line
	words  string   // synonyms, for the palette
	in     place
	rank   int                   // place in the footer, 1 first; 0: not in it
	last   bool                  // at the end of the footer, and never left out of it
	move   bool                  // moves in a view: not in the palette
	why    func(m *model) string // returns why it is refused now; empty if it is not
	do     func(m *model) tea.Cmd
}

// shown returns the text for a key.
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

// firstKey returns the text for the first key of a binding; empty if it has none.
func (b binding) firstKey() string {
	if len(b.keys) == 0 {
		return ""
	}
	return shown(b.keys[0])
}

func (b binding) reason(m *model) string {
	if b.why == nil {
		return ""
	}
	return b.why(m)
}

// find returns the binding of a key in a place.
func find(table []binding, at place, key string) (binding, bool) {
	i := slices.IndexFunc(table, func(b binding) bool { return b.in&at != 0 && slices.Contains(b.keys, key) })
	if i < 0 {
		return binding{}, false
	}
	return table[i], true
}

// named returns the binding with that ID.
func named(table []binding, id string) binding {
	return table[slices.IndexFunc(table, func(b binding) bool { return b.id == id })]
}

// noKey explains why a key does nothing here, and suggests another one.
func (m *model) noKey(key string) string {
	b, elsewhere := find(m.keys, anywhere, key)
	switch {
	case !elsewhere:
		if near, ok := find(m.keys, m.place(), otherCase(key)); ok {
			return fmt.Sprintf("%s does nothing; did you mean %s %s?", shown(key), near.firstKey(), near.label)
		}
		if r := []rune(key); len(r) == 1 && unicode.IsPrint(r[0]) {
			return widget.Clean(key) + " does nothing; ? lists the keys"
		}
		return ""
	case b.move:
		return ""
	case b.id == "operation":
		return b.label + ": it is on the screen"
	case !m.hasBox() && b.in&withBox != 0:
		return b.label + ": there is no box yet"
	}
	if b.in == onBackups {
		return b.label + ": only in the backups, which B opens"
	}
	return b.label + ": not in this view"
}

// otherCase returns a small letter as a capital, and a capital as a small letter.
func otherCase(key string) string {
	if up := strings.ToUpper(key); up != key {
		return up
	}
	return strings.ToLower(key)
}

// press runs the action of a binding, or shows why it is refused. The known state may be some seconds old, so press
// reads the host's files again before it refuses.
func (m *model) press(b binding) tea.Cmd {
	var learned tea.Cmd
	if b.reason(m) != "" {
		learned = m.readFilesNow()
		if why := b.reason(m); why != "" {
			m.note = b.label + ": " + why
			return learned
		}
	}
	return tea.Batch(learned, b.do(m))
}

// pressID presses the binding with that ID.
func (m *model) pressID(id string) tea.Cmd { return m.press(named(m.keys, id)) }

// whyNot returns why the binding with that ID is refused now; empty if it is not.
func (m *model) whyNot(id string) string { return named(m.keys, id).reason(m) }

// footer returns one line of at most w cells: the note or, if there is none, the keys that work now, as many as fit.
// Keys that work only in this place come first, then the most useful ones. Keys that are refused now are left out; help
// has them.
func (m *model) footer(w int) string {
	if m.note != "" {
		return widget.Fit(m.theme.Warn.Render(widget.Clean(m.note)), w)
	}
	switch {
	case m.failure != nil || m.dialog != nil || m.finder != nil: // these show their own keys
		return ""
	case m.view == onLogs && m.logs.typing || m.view == onFiles && m.files.typing:
		return widget.Fit(m.theme.Key.Render("enter")+" find  "+m.theme.Key.Render("esc")+" leave the search", w)
	}
	at := m.place()
	var all, ends []binding
	for _, b := range m.keys {
		switch {
		case b.in&at == 0 || len(b.keys) == 0 || b.reason(m) != "":
		case b.last:
			ends = append(ends, b)
		case b.rank > 0:
			all = append(all, b)
		}
	}
	places := func(b binding) int { return min(bits.OnesCount(uint(b.in)), 2) }
	slices.SortStableFunc(all, func(a, b binding) int {
		return cmp.Or(cmp.Compare(places(a), places(b)), cmp.Compare(a.rank, b.rank))
	})
	text := func(b binding) string { return m.theme.Key.Render(b.firstKey()) + " " + b.label }
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

// placeNames are the names of the places for the user, in the order of the README.
var placeNames = []struct {
	at   place
	name string
}{
	{onFirst, "no box yet"}, {onDashboard, "the box"}, {onDetails, "a component"}, {onDrift, "drift"}, {onOperation, "an operation"},
	{onLogs, "logs"}, {onDoctor, "doctor"}, {onBackups, "backups"}, {onFiles, "files of a backup"}, {anywhere, "anywhere"},
}

// Keys returns the keys as a Markdown table for the README, with a row for each place. A key is listed once: in the
// last row if it works nearly everywhere, otherwise in the row of the first place where it works.
func Keys() string {
	var b strings.Builder
	b.WriteString("| where | keys |\n|---|---|\n")
	listed := map[string]bool{}
	for _, p := range placeNames {
		var cells []string
		for _, k := range bindings() {
			everywhere := k.last || bits.OnesCount(uint(k.in)) > bits.OnesCount(uint(withBox))
			if len(k.keys) == 0 || k.in&p.at == 0 || listed[k.id] || k.move && p.at != anywhere && k.in != p.at || everywhere != (p.at == anywhere) {
				continue
			}
			listed[k.id] = true
			cells = append(cells, fmt.Sprintf("`%s` %s", k.firstKey(), k.label))
		}
		if len(cells) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", p.name, strings.Join(cells, ", "))
		}
	}
	return b.String()
}
