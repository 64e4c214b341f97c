package tui

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// Keys change the screen and call the box as the table says.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name  string
		box   *fake
		keys  string
		shows string // on the screen
		hides string // must not be on the screen
		asked string // a call that the box must have received; with "!" in front, one that it must not have received
	}{
		{"down moves", withStatus(runningStatus()), "j j", "▸ claude", "▸ node", ""},
		{"the selection stops at the end", withStatus(runningStatus()), "j j j j j j j j j", "▸ executor", "", ""},
		{"enter opens the details", withStatus(runningStatus()), "j j j enter", "desired    0.171.0", "next ──", ""},
		{"esc returns to the same selection", withStatus(runningStatus()), "j j j enter esc", "▸ codex", "", ""},
		{"drift", withStatus(runningStatus()), "v", "needs an update, 148 MiB to download", "", ""},
		{"a refused key says why", withStatus(runningStatus()), "s", "start: the box is running already", "", "!start"},
		{"the next key removes the reason", withStatus(runningStatus()), "s j", "▸ uv", "running already", "!start"},
		{"attach to a stopped box", withStatus(off("stopped")), "a", "attach: the box is stopped: s starts it", "", "!attach"},
		{"sign in to a stopped box", withStatus(off("stopped")), "w", "sign in: the box is stopped: s starts it", "", "!login"},
		{"the details say what to type", withStatus(runningStatus()), "j j enter", "hermes-box exec -t -- claude auth login", "", ""},
		{"a suggestion by its number", withStatus(runningStatus()), "2", "needs an update", "", ""},
		{"start begins at once", withStatus(off("stopped")), "s", "start", "", "start"},
		{"S asks before it stops", withStatus(runningStatus()), "S", "Stop main?", "", "!stop"},
		{"enter does not stop", withStatus(runningStatus()), "S enter", "▸ node", "Stop main?", "!stop"},
		{"any other key does not answer", withStatus(runningStatus()), "S t a", "Stop main?", "", "!stop"},
		{"y stops", withStatus(runningStatus()), "S y", "", "Stop main?", "stop"},
		{"enter stops if yes is selected", withStatus(runningStatus()), "S tab enter", "", "Stop main?", "stop"},
		{"force stop", withStatus(off("degraded")), "K y", "", "", "force-stop"},
		{"destroy wants the name", withStatus(runningStatus()), "X enter", "type main", "", "!destroy"},
		{"y is not the name", withStatus(runningStatus()), "X y enter", "that is not the name; type main", "", "!destroy"},
		{"another name", withStatus(runningStatus()), "X m a i n 2 enter", "that is not the name", "", "!destroy"},
		{"the name destroys", withStatus(runningStatus()), "X m a i n enter", "", "Destroy main", "destroy"},
		{"esc does not destroy", withStatus(runningStatus()), "X m a i n esc", "▸ node", "Destroy main", "!destroy"},
		{"force destroy wants the name", withStatus(runningStatus()), "F y enter", "that is not the name; type main", "", "!force-destroy"},
		{"the name destroys by force", withStatus(runningStatus()), "F m a i n enter", "", "Force destroy main", "force-destroy"},
		{"enter creates the first box", noBox(), "enter", "", "", "create"},
		{"c creates the first box too", noBox(), "c", "", "", "create"},
		{"create without a config", &fake{known: Known{Err: errors.New("no config")}}, "enter", "create the box: there is no config yet", "", "!create"},
		{"create of a box that exists", withStatus(runningStatus()), "c", "create: the box exists", "", "!create"},
		{"create while another command creates", busyBox(), "c", "another hermes-box is at work", "", "!create"},
		{"logs of the selected component", withStatus(runningStatus()), "j j j j j l", "▸ executor", "", "logs:executor"},
		{"operations when the box is off", withStatus(off("stopped")), "l", "▸ operations", "", "logs:operations"},
		{"the next log", withStatus(off("stopped")), "l tab", "▸ commands", "", "logs:commands"},
		{"nothing to attach to", noBox(), "a", "attach: there is no box yet", "", "!attach"},
		{"a key of another view", withStatus(runningStatus()), "tab", "next log: not in this view", "", ""},
		{"the portal", withStatus(runningStatus()), "p", "http://127.0.0.1:4788/", "", "open:executor"},
		{"the portal of hermes", withStatus(runningStatus()), "j j j j p", "http://127.0.0.1:4788/", "", "open:dashboard"},
		{"the portal of a stopped box", withStatus(off("stopped")), "p", "portal: the box is stopped: s starts it", "", "!open"},
		{"a backup of a stopped box", withStatus(off("stopped")), "b", "backup: the box is stopped: s starts it", "", "!backup"},
		{"stop of a stopped box", withStatus(off("stopped")), "S", "stop: the box is not running", "", "!stop"},
		{"doctor", withStatus(runningStatus()), "d", "┌ doctor ─", "", "doctor"},
		{"the palette finds a synonym", withStatus(runningStatus()), ": d e l e t e enter", "Destroy main", "command ──", ""},
		{"the palette finds another synonym", withStatus(runningStatus()), ": d i a g n enter", "doctor", "", "doctor"},
		{"the palette says why an action is refused", withStatus(off("stopped")), ": s s h enter", "attach: the box is stopped", "", "!attach"},
		{"the palette finds nothing", withStatus(runningStatus()), ": q q q q q", `nothing is called "qqqqq"`, "", ""},
		{"the palette knows what is lacking", withStatus(runningStatus()), ": u p d", "Not part of this version", "suspend", ""},
		{"esc leaves the palette", withStatus(runningStatus()), ": x esc", "▸ node", "command ──", ""},
		{"help runs what is chosen", withStatus(runningStatus()), "? l o g s enter", "log of hermes", "keys ──", "logs:hermes"},
		{"? closes help", withStatus(runningStatus()), "? ?", "▸ node", "keys ──", ""},
		{"e without an error", withStatus(runningStatus()), "e", "last error: there was none", "", ""},
		{"o without an operation", withStatus(runningStatus()), "o", "operation: nothing is under way", "", ""},
		{"m releases the mouse", withStatus(runningStatus()), "m", "the mouse selects text", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := on(c.box)
			for _, k := range strings.Fields(c.keys) {
				drain(m, press(m, k))
			}
			s := screen(m)
			if c.shows != "" && !strings.Contains(s, c.shows) {
				t.Errorf("the screen does not show %q:\n%s", c.shows, s)
			}
			if c.hides != "" && strings.Contains(s, c.hides) {
				t.Errorf("the screen shows %q:\n%s", c.hides, s)
			}
			if not, ok := strings.CutPrefix(c.asked, "!"); ok && c.box.did(not) || !ok && !c.box.did(c.asked) {
				t.Errorf("the box was asked %v, want %q", c.box.asked, c.asked)
			}
		})
	}
}

// busyBox returns a box that another process is creating.
func busyBox() *fake {
	st := off("starting")
	st.Busy = "create is under way"
	st.Underway = &ops.Underway{Operation: "create", Running: true, PID: 1 << 22, Started: noon}
	f := withStatus(st)
	f.known.Ready = false
	return f
}

// The palette lists matches of a name before matches of a synonym.
func TestPaletteListsNamesFirst(t *testing.T) {
	m := on(withStatus(runningStatus()))
	press(m, ":", "s", "t")
	s := screen(m)
	if start, operation := strings.Index(s, " start "), strings.Index(s, " operation "); start < 0 || operation >= 0 && operation < start { // one of its synonyms is "steps"
		t.Error(s)
	}
}

func TestMouse(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		m := on(withStatus(runningStatus()))
		m.update(sized(w, 24))
		row := slices.IndexFunc(strings.Split(screen(m), "\n"), func(line string) bool { return strings.Contains(line, "codex ") })
		m.update(tea.MouseClickMsg{X: w - 10, Y: row, Button: tea.MouseLeft})
		if !strings.Contains(screen(m), "▸ codex") {
			t.Errorf("a click on line %d does not select codex:\n%s", row, screen(m))
		}
		m.update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
		if !strings.Contains(screen(m), "▸ node") {
			t.Errorf("the wheel does not move the selection:\n%s", screen(m))
		}
		if press(m, "m"); m.View().MouseMode != tea.MouseModeNone {
			t.Error("m does not release the mouse")
		}
	}
}

// In a terminal that is too small for the dashboard only q works.
func TestTooSmallIgnoresKeys(t *testing.T) {
	f := withStatus(runningStatus())
	m := on(f)
	m.update(sized(40, 10))
	drain(m, press(m, "S", "y", "X"))
	if m.dialog != nil || f.did("stop") {
		t.Error("a key acts in a terminal that is too small")
	}
	if press(m, "q") == nil || m.ctx.Err() == nil {
		t.Error("q does not quit")
	}
}

// The buttons of a dialog are visible, however long its text is.
func TestLongDialogShowsAnswers(t *testing.T) {
	f := withStatus(runningStatus())
	f.known.Config = "/srv/" + strings.Repeat("a-long-directory/", 30) + "hermes-box.yaml"
	m := on(f)
	m.update(sized(60, 16))
	press(m, "X", "m", "a")
	if s := screen(m); !strings.Contains(s, "> ma") || !strings.Contains(s, "enter destroy") {
		t.Error(s)
	}
}

// A key has one meaning in each place, and every binding has its texts.
func TestBindings(t *testing.T) {
	ids := map[string]bool{}
	for at := onFirst; at <= onFiles; at <<= 1 {
		seen := map[string]string{}
		for _, b := range bindings() {
			for _, k := range b.keys {
				if b.in&at != 0 && seen[k] != "" {
					t.Errorf("the key %s means both %s and %s in place %b", k, seen[k], b.id, at)
				} else if b.in&at != 0 {
					seen[k] = b.id
				}
			}
		}
		for _, want := range []string{"quit", "help", "palette", "suspend"} {
			if !slices.Contains(mapValues(seen), want) {
				t.Errorf("%s has no key in place %b", want, at)
			}
		}
	}
	for _, b := range bindings() {
		if ids[b.id] || b.do == nil || b.effect == "" || b.label == "" || b.in == 0 {
			t.Errorf("a binding lacks a text, a place or an ID of its own: %+v", b)
		}
		ids[b.id] = true
		if (b.id == "destroy" || b.id == "force-destroy" || b.id == "force-stop") && strings.ToLower(b.keys[0]) == b.keys[0] {
			t.Errorf("%s can lose data, so its key must be a capital", b.id)
		}
	}
}

func mapValues(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// The README lists the keys of the table. -update writes them there.
func TestReadmeKeys(t *testing.T) {
	const path = "../README.md"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`\| where \| keys \|\n(\|.*\n)+`)
	if got := table.Find(readme); string(got) == Keys() {
		return
	}
	if !*update {
		t.Fatalf("the keys in README.md are outdated; go test ./tui -update writes them:\n%s", Keys())
	}
	if err := os.WriteFile(path, table.ReplaceAllLiteral(readme, []byte(Keys())), 0o644); err != nil {
		t.Fatal(err)
	}
}
