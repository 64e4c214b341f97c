package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/fault"
)

func sized(w, h int) tea.Msg { return tea.WindowSizeMsg{Width: w, Height: h} }

// on is a dashboard of that box, its first answer taken in.
func on(f *fake) *model {
	m := testModel(f, 80, 24)
	drain(m, tea.Batch(m.look(), m.ask()))
	return m
}

func screen(m *model) string { return ansi.Strip(m.frame()) }

// What keys do, from one state to the next: what is then on the screen, and what the box was asked for.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name  string
		box   *fake
		keys  string
		shows string // on the screen
		hides string
		asked string // of the box; "!" begins what must not have been
	}{
		{"down moves", withStatus(running()), "j j", "▸ claude", "▸ node", ""},
		{"the selection stops at the end", withStatus(running()), "j j j j j j j j j", "▸ executor", "", ""},
		{"enter opens the details", withStatus(running()), "j j j enter", "desired    0.171.0", "next ──", ""},
		{"esc comes back to the same", withStatus(running()), "j j j enter esc", "▸ codex", "", ""},
		{"drift", withStatus(running()), "v", "needs an update, 148 MiB to fetch", "", ""},
		{"a key that cannot be pressed says why", withStatus(running()), "s", "start: the box runs already", "", "!start"},
		{"and the next key takes that away", withStatus(running()), "s j", "▸ uv", "runs already", "!start"},
		{"attach to a stopped box", withStatus(off("stopped")), "a", "attach: the box is stopped: s starts it", "", "!attach"},
		{"nobody signs in to a stopped box", withStatus(off("stopped")), "w", "sign in: the box is stopped: s starts it", "", "!login"},
		{"the details say what to type", withStatus(running()), "j j enter", "hermes-box exec -t -- claude auth login", "", ""},
		{"a suggestion by its number", withStatus(running()), "2", "needs an update", "", ""},
		{"start begins at once", withStatus(off("stopped")), "s", "start", "", "start"},
		{"stop asks", withStatus(running()), "S", "Stop main?", "", "!stop"},
		{"enter is no", withStatus(running()), "S enter", "▸ node", "Stop main?", "!stop"},
		{"any other key is no answer", withStatus(running()), "S t a", "Stop main?", "", "!stop"},
		{"y is yes", withStatus(running()), "S y", "", "Stop main?", "stop:false"},
		{"marked, enter is yes", withStatus(running()), "S tab enter", "", "Stop main?", "stop:false"},
		{"by force", withStatus(off("degraded")), "K y", "", "", "stop:true"},
		{"destroy wants the name", withStatus(running()), "X enter", "the name is main", "", "!destroy"},
		{"y is not the name", withStatus(running()), "X y enter", "that is not its name: it is called main", "", "!destroy"},
		{"another name", withStatus(running()), "X m a i n 2 enter", "that is not its name", "", "!destroy"},
		{"its name", withStatus(running()), "X m a i n enter", "", "Destroy main", "destroy"},
		{"esc keeps it", withStatus(running()), "X m a i n esc", "▸ node", "Destroy main", "!destroy"},
		{"the first key of all makes the box", noBox(), "enter", "", "", "create"},
		{"c makes it too", noBox(), "c", "", "", "create"},
		{"not without a config", &fake{known: Known{Err: errors.New("no config")}}, "enter", "make the box: there is no config yet", "", "!create"},
		{"not where it is", withStatus(running()), "c", "create: the box exists", "", "!create"},
		{"what another command is making is not made", busyBox(), "c", "another hermes-box is at work", "", "!create"},
		{"logs of the selected component", withStatus(running()), "j j j j j l", "▸ executor", "", "logs:executor"},
		{"operations when the box is off", withStatus(off("stopped")), "l", "▸ operations", "", "logs:operations"},
		{"the next log", withStatus(off("stopped")), "l tab", "▸ commands", "", "logs:commands"},
		{"nothing to attach to", noBox(), "a", "attach: there is no box yet", "", "!attach"},
		{"a key of another view", withStatus(running()), "tab", "next log: not in this view", "", ""},
		{"the portal", withStatus(running()), "p", "http://127.0.0.1:4788/", "", "open:executor"},
		{"that of hermes", withStatus(running()), "j j j j p", "http://127.0.0.1:4788/", "", "open:dashboard"},
		{"none of a stopped box", withStatus(off("stopped")), "p", "portal: the box does not run", "", "!open"},
		{"doctor", withStatus(running()), "d", "checks, none fails", "", "doctor"},
		{"the palette by a synonym", withStatus(running()), ": d e l e t e enter", "Destroy main", "command ──", ""},
		{"the palette by another", withStatus(running()), ": d i a g n enter", "doctor", "", "doctor"},
		{"the palette says why not", withStatus(off("stopped")), ": s s h enter", "attach: the box is stopped", "", "!attach"},
		{"what nothing is called", withStatus(running()), ": q q q q q", `nothing is called "qqqqq"`, "", ""},
		{"esc leaves the palette", withStatus(running()), ": x esc", "▸ node", "command ──", ""},
		{"help runs what is chosen", withStatus(running()), "? l o g s enter", "log of hermes", "keys ──", "logs:hermes"},
		{"? closes help", withStatus(running()), "? ?", "▸ node", "keys ──", ""},
		{"there was no error", withStatus(running()), "e", "last error: there was none", "", ""},
		{"nothing is under way", withStatus(running()), "o", "operation: nothing is under way", "", ""},
		{"the mouse is given back", withStatus(running()), "m", "the mouse selects text", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := on(c.box)
			for _, k := range strings.Fields(c.keys) {
				drain(m, press(m, k))
			}
			s := screen(m)
			if c.shows != "" && !strings.Contains(s, c.shows) {
				t.Errorf("it does not show %q:\n%s", c.shows, s)
			}
			if c.hides != "" && strings.Contains(s, c.hides) {
				t.Errorf("it shows %q:\n%s", c.hides, s)
			}
			if not, ok := strings.CutPrefix(c.asked, "!"); ok && c.box.did(not) || !ok && !c.box.did(c.asked) {
				t.Errorf("asked %v, not as %q", c.box.asked, c.asked)
			}
		})
	}
}

func busyBox() *fake {
	st := off("starting")
	st.Busy = "create is under way"
	f := withStatus(st)
	f.known.Ready = false
	return f
}

// held is a create that goes on until the test ends it, or it is canceled.
func held(f *fake) (end chan error) {
	end = make(chan error)
	f.run = func(ctx context.Context, sink ops.Sink) error {
		sink(ops.Event{Time: noon, Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "boot", Title: "boot the VM"}}})
		sink(ops.Event{Time: noon, Kind: ops.Started, Step: "boot", Title: "boot the VM"})
		select {
		case err := <-end:
			return err
		case <-ctx.Done():
			return fault.New(fault.Interrupted, "create was interrupted")
		}
	}
	return end
}

// settle takes in what an operation has told until it has ended.
func settle(t *testing.T, m *model) {
	t.Helper()
	for !m.op.ended {
		b := m.op.feed.next(t.Context())
		m.progressed(b)
		if b.ended && !m.op.ended {
			t.Fatal("the operation has not ended with its feed")
		}
	}
}

func TestQuitDuringAnOperation(t *testing.T) {
	f := noBox()
	end := held(f)
	m := on(f)
	press(m, "enter", "q")
	if !strings.Contains(screen(m), "Leave while the create is under way?") {
		t.Fatal(screen(m))
	}
	if press(m, "enter"); m.dialog != nil || m.ctx.Err() != nil {
		t.Fatal("enter has left")
	}
	press(m, "q")
	if cmd := press(m, "y"); cmd == nil || m.ctx.Err() == nil || !m.op.canceled {
		t.Fatal("y has not left, or has left the operation")
	}
	settle(t, m)
	close(end)
	if fault.CodeOf(m.op.err) != fault.Interrupted {
		t.Error(m.op.err)
	}
}

// Whoever puts a failed create away is told whether the machine has all it needs, also in a demo, which begins with it.
func TestChecksAfterAFailedCreate(t *testing.T) {
	f := noBox()
	f.run = func(context.Context, ops.Sink) error { return errors.New("no room is left") }
	m := testModel(f, 80, 24)
	m.create = true
	drain(m, m.Init())
	settle(t, m)
	now := noon.Add(time.Minute)
	m.now = func() time.Time { return now }
	drain(m, press(m, "enter"))
	if s := screen(m); !strings.Contains(s, "✓ has all it needs") {
		t.Error(s)
	}
}

func TestStepProgressCutsNoNumber(t *testing.T) {
	m := testModel(noBox(), 80, 24)
	s := &step{detail: "claude smoke", begun: noon.Add(-1200 * time.Millisecond)}
	for w, want := range map[int]string{17: "claude smoke · 1s", 16: "claude smoke"} {
		if got := ansi.Strip(m.stepProgress(s, w)); got != want {
			t.Errorf("%d cells: %q", w, got)
		}
	}
}

// Doctor ends at the first check that fails, unless the person is elsewhere.
func TestDoctorSelectsWhatFails(t *testing.T) {
	f := withStatus(running())
	f.checks = lackingHost()
	m := on(f)
	drain(m, press(m, "d"))
	if s := screen(m); !strings.Contains(s, "▸ ✗ fail") {
		t.Error(s)
	}
	drain(m, press(m, "g", "j"))
	at := m.doctor.checks.list.at
	drain(m, press(m, "r"))
	if m.doctor.checks.list.at != at {
		t.Errorf("it has moved from %d to %d", at, m.doctor.checks.list.at)
	}
}

// Leaving a shell whose last command failed is no failure of attach.
func TestLeftSession(t *testing.T) {
	m := on(withStatus(running()))
	err := exec.Command("sh", "-c", "exit 7").Run()
	m.update(detachMsg{err: err, used: true})
	if shows := screen(m); m.failure != nil || !strings.Contains(shows, "the session ended with status 7") {
		t.Errorf("%v\n%s", m.failure, shows)
	}
	m.update(detachMsg{err: err})
	if m.failure == nil {
		t.Error("a session that failed at once is not told")
	}
}

// Checks of an earlier look are not shown as those of now.
func TestDoctorLooksEachTime(t *testing.T) {
	f := withStatus(running())
	m := on(f)
	drain(m, press(m, "d"))
	drain(m, press(m, "esc"))
	drain(m, press(m, "d"))
	if n := strings.Count(strings.Join(f.asked, " "), "doctor"); n != 2 {
		t.Errorf("the box was looked at %d times", n)
	}
}

func TestPaletteHasNamesBeforeOtherWords(t *testing.T) {
	m := on(withStatus(running()))
	press(m, ":", "s", "t")
	s := screen(m)
	if start, operation := strings.Index(s, " start "), strings.Index(s, " operation "); start < 0 || operation < start { // its words have "steps"
		t.Error(s)
	}
}

// What is put back after a failure is not where it failed.
func TestStepStaysWhereItFailed(t *testing.T) {
	o := &operation{}
	for _, e := range []ops.Event{
		{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "install", Title: "install"}}},
		{Kind: ops.Started, Step: "install", Title: "install"},
		{Kind: ops.Phase, Step: "install", Component: "executor", Phase: protocol.PhaseHealth, State: protocol.Failed},
		{Kind: ops.Phase, Step: "install", Component: "executor", Phase: protocol.PhaseActivate, State: protocol.Undone},
		{Kind: ops.Failed, Step: "install", Title: "install", Error: "no"},
	} {
		o.apply(e)
	}
	if got := o.steps[0].detail; got != "executor health" {
		t.Errorf("it failed at %q", got)
	}
}

// An operation that fails while another view is shown is told all the same, and its question is taken back.
func TestFailureElsewhere(t *testing.T) {
	f := noBox()
	end := held(f)
	m := on(f)
	press(m, "enter", "q")
	press(m, "n", "esc", "o", "x")
	if m.dialog == nil {
		t.Fatal(screen(m))
	}
	press(m, "n", "esc")
	end <- fault.New(fault.ExternalFailed, "no room is left").Hint("make room").Detail("output", "write: ENOSPC")
	settle(t, m)
	if s := screen(m); !strings.Contains(s, "no room is left") || !strings.Contains(s, "hint: make room") || !strings.Contains(s, "ENOSPC") {
		t.Fatal(s)
	}
	// Keys in flight are no answer; after some quiet, they are.
	now := noon
	m.now = func() time.Time { return now }
	for range 3 {
		now = now.Add(200 * time.Millisecond)
		if press(m, "enter"); m.failure == nil {
			t.Fatal("a key in flight has closed it")
		}
	}
	now = now.Add(quiet)
	if press(m, "enter"); m.failure != nil {
		t.Fatal("it does not close")
	}
	if press(m, "e"); m.failure == nil {
		t.Fatal("e does not show it again")
	}
	if press(m, "esc"); m.failure != nil {
		t.Fatal("shown again it opened by a key, and waits all the same")
	}
}

// Nothing else is begun while the terminal is about to be handed over, and it can be given up.
func TestAttachIsGivenUp(t *testing.T) {
	f := withStatus(running())
	f.attach = func(ctx context.Context) (*exec.Cmd, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	m := on(f)
	cmd := press(m, "a")
	got := make(chan tea.Msg)
	go func() { got <- cmd() }()
	press(m, "X", "j")
	if s := screen(m); strings.Contains(s, "Destroy") || !strings.Contains(s, "▸ node") || !strings.Contains(s, "esc gives up") {
		t.Error(s)
	}
	press(m, "esc")
	m.update(<-got)
	if s := screen(m); m.attaching != nil || m.failure != nil || strings.Contains(s, "gives up") {
		t.Error(s)
	}
	f.attach = nil
	drain(m, press(m, "a"))
	if s := screen(m); !strings.Contains(s, "✗ attach failed") || !strings.Contains(s, "nothing to attach to") {
		t.Error(s)
	}
}

// The end of a long operation is announced where nobody looks; of a short one, or to somebody who does, it is not.
func TestLongOperationsAreAnnounced(t *testing.T) {
	for _, c := range []struct {
		took    time.Duration
		blurred bool
		want    bool
	}{{time.Minute, true, true}, {time.Second, true, false}, {time.Minute, false, false}} {
		m := on(noBox())
		creating(9, nil)(m)
		m.op.begun, m.poll.blurred = noon.Add(-c.took), c.blurred
		raw := false
		msgs, _ := m.progressed(batch[ops.Event]{from: m.op.feed, ended: true})().(tea.BatchMsg)
		for _, cmd := range msgs {
			if cmd == nil {
				continue
			}
			if r, ok := cmd().(tea.RawMsg); ok {
				raw = strings.Contains(fmt.Sprint(r.Msg), "\a") && strings.Contains(fmt.Sprint(r.Msg), "create of main done")
			}
		}
		if raw != c.want {
			t.Errorf("%+v: announced %v", c, raw)
		}
	}
}

// What was on the screen unread is left in the terminal.
func TestUnreadErrorIsTold(t *testing.T) {
	m := on(noBox())
	creating(9, fault.New(fault.HealthFailed, "smoke failed").Hint("look at the log"))(m)
	m.lastFailure = &failure{err: m.op.err}
	var out strings.Builder
	m.tellUnread(&out)
	if out.String() != "hermes-box: smoke failed\nhint: look at the log\n" {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	press(m, "enter")
	if m.tellUnread(&out); out.String() != "" {
		t.Errorf("read, and told again: %q", out.String())
	}
}

// The log below the details of a component is read as long as it is shown, and no longer.
func TestDetailsReadTheLog(t *testing.T) {
	for _, leave := range []string{"esc", "d", "v"} {
		f := withStatus(running())
		m := on(f)
		press(m, "G", "enter")
		if m.logs.source != "executor" || m.logs.cancel == nil {
			t.Fatalf("the log of executor is not read: %s", m.logs.source)
		}
		if press(m, leave); m.logs.cancel != nil {
			t.Errorf("%s leaves it reading", leave)
		}
	}
}

// In a terminal too small to show what would be done, nothing is.
func TestNothingIsDoneUnseen(t *testing.T) {
	f := withStatus(running())
	m := on(f)
	m.update(sized(40, 10))
	drain(m, press(m, "S", "y", "X"))
	if m.dialog != nil || f.did("stop") {
		t.Error("something is done that cannot be seen")
	}
	if press(m, "q") == nil || m.ctx.Err() == nil {
		t.Error("q does not leave")
	}
}

// However long what is said of it, the name can be typed.
func TestDialogKeepsItsAnswer(t *testing.T) {
	f := withStatus(running())
	f.known.Config = "/srv/" + strings.Repeat("a-long-directory/", 30) + "hermes-box.yaml"
	m := on(f)
	m.update(sized(60, 16))
	press(m, "X", "m", "a")
	if s := screen(m); !strings.Contains(s, "> ma") || !strings.Contains(s, "enter destroy") {
		t.Error(s)
	}
}

// The end of an operation is told where the person is.
func TestSuccessElsewhere(t *testing.T) {
	f := withStatus(off("stopped"))
	end := held(f)
	m := on(f)
	press(m, "s", "esc")
	end <- nil
	settle(t, m)
	if s := screen(m); !strings.Contains(s, "main is running") {
		t.Error(s)
	}
}

func TestMouse(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		m := on(withStatus(running()))
		m.update(sized(w, 24))
		row := slices.IndexFunc(strings.Split(screen(m), "\n"), func(line string) bool { return strings.Contains(line, "codex ") })
		m.update(tea.MouseClickMsg{X: w - 10, Y: row, Button: tea.MouseLeft})
		if !strings.Contains(screen(m), "▸ codex") {
			t.Errorf("a click on line %d does not select codex:\n%s", row, screen(m))
		}
		m.update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
		if !strings.Contains(screen(m), "▸ node") {
			t.Errorf("the wheel does not move:\n%s", screen(m))
		}
		if press(m, "m"); m.View().MouseMode != tea.MouseModeNone {
			t.Error("m does not give the mouse back")
		}
	}
}

func TestGraceHasAnEnd(t *testing.T) {
	g := newGrace(noon)
	at := noon
	for at.Sub(noon) < quietLimit {
		at = at.Add(100 * time.Millisecond)
		if at.Sub(noon) <= quietLimit && !g.deaf(at) {
			t.Fatalf("heard after %v of a held key", at.Sub(noon))
		}
	}
	if g.deaf(at.Add(100 * time.Millisecond)) {
		t.Error("deaf for ever while a key is held")
	}
}

// Refreshing moves neither selection nor scroll; a box that is gone is not shown any more.
func TestRefreshKeepsThePlace(t *testing.T) {
	f := withStatus(running())
	m := on(f)
	press(m, "j", "j", "j")
	st := running()
	st.Guest.Load = 3
	f.status = func(context.Context) (*ops.Status, error) { return st, nil }
	drain(m, m.ask())
	if s := screen(m); !strings.Contains(s, "▸ codex") || !strings.Contains(s, "75 %") {
		t.Error(s)
	}
	f.known.Exists, f.known.Ready = false, false
	f.known.Status = &ops.Status{Box: "main", State: "absent"}
	drain(m, m.look())
	if s := screen(m); !strings.Contains(s, "A box is a virtual machine") {
		t.Error(s)
	}
}

// A failed or hanging question leaves what was known, and it grows old before one's eyes.
func TestStaleIsToldApart(t *testing.T) {
	f := withStatus(running())
	m := on(f)
	now := noon
	m.now = func() time.Time { return now }
	f.status = func(ctx context.Context) (*ops.Status, error) { return nil, errors.New("no") }
	now = now.Add(time.Minute)
	drain(m, m.ask())
	if m.live == nil {
		t.Fatal("a failed question has thrown away the last answer")
	}
	if m.ask() == nil { // and is not answered
		t.Fatal("not asked")
	}
	now = now.Add(time.Minute)
	if s := screen(m); !strings.Contains(s, "no answer from the box for 1m") || !strings.Contains(s, "as seen 2m ago") {
		t.Error(s)
	}
	if m.ask() != nil {
		t.Error("asked twice at the same time")
	}
}

func TestPollingSlowsAndStops(t *testing.T) {
	m := on(withStatus(running()))
	for range 10 {
		drain(m, m.ask())
	}
	if m.poll.every != pollSeldom {
		t.Errorf("nothing changes, and it is asked every %v", m.poll.every)
	}
	if press(m, "j"); m.poll.every != pollOften {
		t.Error("a key does not wake it")
	}
	m.update(tea.BlurMsg{})
	if m.update(tickMsg{m.poll.turn}) != nil {
		t.Error("asked though nobody looks")
	}
	if m.update(tea.FocusMsg{}) == nil {
		t.Error("not asked as somebody looks again")
	}
	if m.update(tickMsg{m.poll.turn - 1}) != nil {
		t.Error("an old tick counts")
	}
}

func TestMergeEvents(t *testing.T) {
	var q []ops.Event
	for i := range 1000 {
		q = mergeEvents(q, ops.Event{Kind: ops.Bytes, Step: "fetch", Done: int64(i)})
		q = mergeEvents(q, ops.Event{Kind: ops.Bytes, Step: "image", Done: int64(i)})
	}
	if len(q) != 2 || q[0].Done != 999 {
		t.Errorf("%d events are left of 2000", len(q))
	}
	q = mergeEvents(q, ops.Event{Kind: ops.Done, Step: "fetch"})
	q = mergeEvents(q, ops.Event{Kind: ops.Bytes, Step: "fetch", Done: 5})
	if len(q) != 4 || q[2].Kind != ops.Done {
		t.Errorf("bytes overtake the end of a step: %v", q)
	}
}

// The clock of an operation stops while nobody looks, and there is only one.
func TestPulse(t *testing.T) {
	m := on(noBox())
	creating(9, nil)(m)
	var due []tea.Msg
	m.after = func(_ time.Duration, msg tea.Msg) tea.Cmd {
		if _, ok := msg.(pulseMsg); ok {
			due = append(due, msg)
		}
		return nil
	}
	m.pulse()
	m.update(tea.BlurMsg{})
	m.update(tea.FocusMsg{}) // before the first was due
	for range 3 {
		all := due
		due = nil
		for _, msg := range all {
			m.update(msg)
		}
		if len(due) != 1 {
			t.Fatalf("%d pulses", len(due))
		}
	}
	m.update(tea.BlurMsg{})
	msg := due[0]
	due = nil
	if m.update(msg); len(due) != 0 {
		t.Error("it beats unseen")
	}
	if m.update(tea.FocusMsg{}); len(due) != 1 {
		t.Error("it does not beat again")
	}
}

// One key means one thing in a place, and everything that can be done says what it does.
func TestBindings(t *testing.T) {
	ids := map[string]bool{}
	for at := onFirst; at <= onDoctor; at <<= 1 {
		seen := map[string]string{}
		for _, b := range bindings() {
			for _, k := range b.keys {
				if b.in&at != 0 && seen[k] != "" {
					t.Errorf("%s is %s and %s in place %b", k, seen[k], b.id, at)
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
		if ids[b.id] || b.do == nil || b.effect == "" || b.label == "" || len(b.keys) == 0 || b.in == 0 {
			t.Errorf("%+v", b)
		}
		ids[b.id] = true
		if (b.id == "destroy" || b.id == "force-stop") && strings.ToLower(b.keys[0]) == b.keys[0] {
			t.Errorf("%s destroys, and is no capital", b.id)
		}
	}
}

func mapValues(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// No glyph is of a private use area, and each has a stand-in.
func TestGlyphs(t *testing.T) {
	for _, s := range scenes() {
		for _, r := range screen(s.make(120, 40)) {
			if r >= 0xe000 && r <= 0xf8ff {
				t.Errorf("%s: private glyph %q", s.name, r)
			}
			if _, ok := plain[r]; !ok && r > 0x7e {
				t.Errorf("%s: %q has no stand-in", s.name, r)
			}
		}
		m := s.make(80, 24)
		want := strings.Count(m.frame(), "\n")
		m.ascii = true
		frame := m.frame()
		for _, r := range frame {
			if r > 0x7e {
				t.Fatalf("%s: %q", s.name, r)
			}
		}
		if strings.Count(frame, "\n") != want {
			t.Errorf("%s has another number of lines in ASCII", s.name)
		}
	}
}

// What the box says of itself cannot draw outside its place.
func TestForeignTextIsTamed(t *testing.T) {
	f := withStatus(running())
	st := running()
	st.Cause = "evil\x1b[2J\x1b]0;title\x07\r\x08\u202e text\u200b"
	st.Components[1].Detail = "a\tb\x1b[31m"
	f.status = func(context.Context) (*ops.Status, error) { return st, nil }
	m := on(f)
	for _, bad := range []string{"\x1b[2J", "\x1b]0", "\x07", "\r", "\x08", "\u202e", "\u200b", "\t"} {
		if strings.Contains(m.frame(), bad) {
			t.Errorf("%q comes through", bad)
		}
	}
	if !strings.Contains(screen(m), "evil text") {
		t.Error(screen(m))
	}
}

func TestFeedPaces(t *testing.T) {
	f := newFeed[int](nil)
	ctx := t.Context()
	go func() {
		for i := range 10_000 {
			f.push(i)
		}
		f.end(errors.New("over"))
	}()
	begun, batches, n := time.Now(), 0, 0
	for {
		b := f.next(ctx)
		batches++
		for _, v := range b.items {
			if v != n {
				t.Fatalf("%d comes after %d", v, n-1)
			}
			n++
		}
		if b.ended {
			if n != 10_000 || b.err == nil {
				t.Errorf("%d of 10000, %v", n, b.err)
			}
			break
		}
	}
	if most := int(time.Since(begun)/feedPace) + 2; batches > most {
		t.Errorf("%d batches in %v", batches, time.Since(begun))
	}
}

func TestReadable(t *testing.T) {
	for line, want := range map[string]string{
		"plain \x1b[31mred\x1b[0m\r": "plain red",
		`{"time":"2026-06-15T12:00:00Z","event":"started","title":"boot the VM"}`:                              "12:00:00  boot the VM: started",
		`{"time":"2026-06-15T12:00:00Z","event":"done","title":"boot the VM","seconds":72}`:                    "12:00:00  boot the VM: done in 1m12s",
		`{"time":"2026-06-15T12:00:00Z","event":"phase","component":"uv","phase":"stage","state":"done"}`:      "12:00:00  uv stage: done",
		`{"time":"2026-06-15T12:00:00Z","command":"limactl list","seconds":0.2,"status":1,"stderr":"no\nway"}`: "12:00:00  ✗   0.2s  limactl list: no | way",
		`{"some":"json"}`: `{"some":"json"}`,
		`{broken`:         `{broken`,
	} {
		if got := readable(line); got != want {
			t.Errorf("%q reads %q, want %q", line, got, want)
		}
	}
}

// Ten thousand lines: drawn once, then a scroll costs a screen, not the log.
func BenchmarkLongLog(b *testing.B) {
	m := testModel(withStatus(running()), 120, 40)
	m.view, m.logs.lines, m.logs.wrap = onLogs, manyLines(logLines), true
	m.frame()
	for b.Loop() {
		press(m, "k")
		m.frame()
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, s := range scenes() {
		b.Run(s.name, func(b *testing.B) {
			m := s.make(120, 40)
			for b.Loop() {
				m.frame()
			}
		})
	}
}

// The README lists the keys as the table has them.
func TestReadmeKeys(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), Keys()) {
		t.Errorf("README.md does not hold the keys as they are:\n%s", Keys())
	}
}
