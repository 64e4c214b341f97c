package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/internal/sanitize"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// model is the whole dashboard. It is the only Tea model; the views are structs in it.
type model struct {
	box    Box
	ctx    context.Context // ends with the dashboard
	stop   context.CancelFunc
	tasks  *tasks
	now    func() time.Time
	after  func(time.Duration, tea.Msg) tea.Cmd // a message in a while
	theme  widget.Theme
	keys   []binding
	ascii  bool
	frames *widget.Frames // nil: drawn at one rate
	label  string         // beside the name of the box on every screen: "demo"

	typed  func(string) string                          // a text with commands in it, as they are to be typed here
	create bool                                         // begin with making the box
	browse func(string) error                           // shows an address to the person; nil: there is no browser
	login  func(ctx context.Context, step string) error // signs in on the terminal; nil: there is none

	w, h  int
	mouse bool
	note  string // in place of the footer, until the next key

	known Known
	live  *ops.Status // nil until the first answer
	poll  poll

	view      place // onDashboard stands for onFirst too
	dashboard dashboard
	first     first
	details   details
	logs      logs
	doctor    doctor
	op        *operation // the last one; kept until it is dismissed

	// On top of the view, the topmost first.
	failure *failure
	dialog  *question
	finder  *finder

	lastFailure *failure
	attaching   context.CancelFunc // gives it up; nil: no attach is under way
}

func newModel(ctx context.Context, b Box) *model {
	ctx, stop := context.WithCancel(ctx)
	m := &model{box: b, ctx: ctx, stop: stop, tasks: &tasks{}, now: time.Now, after: after, theme: widget.NewTheme(""), keys: bindings(),
		typed: func(s string) string { return s }, mouse: true, view: onDashboard, poll: newPoll()}
	m.logs = newLogs()
	m.known = b.Known()
	sanitize.Value(m.known.Status)
	return m
}

func after(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

// bindings is the one table of keys.
func bindings() []binding {
	return slices.Concat(moveBindings(), viewBindings(), verbBindings(), operationBindings(), logBindings(), doctorBindings(),
		commonBindings())
}

// Init asks for the live state; the first frame does not wait for it.
func (m *model) Init() tea.Cmd {
	begin := m.pollNow()
	if m.create && whyNotCreate(m) == "" {
		return tea.Batch(begin, m.press(named(m.keys, "create")))
	}
	return tea.Batch(begin, m.firstChecks())
}

// Update changes the dashboard. It never waits: what takes time is a command.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.frames.Wake()
	return m, m.update(msg)
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.MouseMsg:
		return m.clicked(msg)
	case tea.FocusMsg:
		return m.focused()
	case tea.BlurMsg:
		m.poll.blurred = true
	case tea.ResumeMsg:
		return m.pollNow()
	case knownMsg:
		sanitize.Value(msg.known.Status)
		return m.learn(msg.known)
	case statusMsg:
		sanitize.Value(msg.status)
		m.answered(msg)
	case tickMsg:
		return m.tick(msg)
	case pulseMsg:
		if m.op != nil && msg.turn == m.op.pulse {
			return m.pulse()
		}
	case batch[ops.Event]:
		sanitize.Value(&msg.items)
		return m.progressed(msg)
	case batch[ops.Check]:
		sanitize.Value(&msg.items)
		return m.checked(msg)
	case batch[string]:
		return m.logs.took(m, msg)
	case rereadMsg:
		return m.logs.reread(m, msg)
	case portalMsg:
		return m.opened(msg)
	case attachMsg:
		return m.attached(msg)
	case detachMsg:
		return m.detached(msg)
	case signedInMsg:
		return m.signedIn(msg)
	}
	return nil
}

// key goes to what is on top; below that the table has the word.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	m.note = ""
	m.poll.wake()
	name := k.String()
	switch {
	case name == "ctrl+z":
		return tea.Suspend
	case m.small(): // nothing is done that cannot be seen
		if (name == "q" || name == "ctrl+c") && !m.running() {
			return m.quit()
		}
		return nil
	case m.attaching != nil: // the terminal is about to go: nothing else is to be begun
		if name == "esc" || name == "ctrl+c" || name == "q" {
			m.attaching()
		} else {
			m.note = m.attachNote()
		}
		return nil
	case m.failure != nil:
		return m.failure.key(m, name)
	case m.dialog != nil:
		return m.answer(k)
	case m.finder != nil:
		return m.finder.key(m, k)
	case m.view == onLogs && m.logs.typing:
		return m.logs.typeKey(k)
	}
	if m.view == onOperation && m.op != nil && m.op.ended && name != "ctrl+c" && m.op.grace.Ignores(m.now()) {
		return nil
	}
	b, ok := find(m.keys, m.place(), name)
	if !ok && m.view == onOperation && m.op != nil && m.op.ended {
		return m.beyond(name)
	}
	if !ok {
		m.note = m.elsewhere(name)
		return nil
	}
	return m.press(b)
}

// maxTyped is the most that is typed anywhere, runes: what is looked for with it is looked for at each key.
const maxTyped = 100

// paste goes where text is typed, and nowhere else: what was copied answers no question and presses no key. Of much only
// the beginning is taken.
func (m *model) paste(text string) tea.Cmd {
	text = typed("", widget.Clean(text[:min(len(text), 4*maxTyped)]))
	switch {
	case m.small() || m.attaching != nil || m.failure != nil:
	case m.dialog != nil:
		if m.dialog.Typed() {
			return m.dialog.Paste(text)
		}
	case m.finder != nil:
		m.finder.add(text)
	case m.view == onLogs && m.logs.typing:
		m.logs.query = typed(m.logs.query, text)
	}
	return nil
}

// typed is a text with more behind it, on one line and no longer than anybody types.
func typed(text, more string) string {
	all := []rune(text + strings.ReplaceAll(more, "\n", ""))
	return string(all[:min(len(all), maxTyped)])
}

// place is where the person is, as the bindings know it.
func (m *model) place() place {
	if m.view == onDashboard && !m.hasBox() {
		return onFirst
	}
	return m.view
}

// show goes to a view; what only the one before needs ends.
func (m *model) show(view place) {
	if view != onLogs && view != onDetails {
		m.logs.end()
	}
	if view != onOperation && m.op != nil && m.op.watched {
		m.unwatch()
		m.op = nil
	}
	m.view = view
}

// hasBox is whether there is a box to show; one whose making was cut off is none.
func (m *model) hasBox() bool {
	return m.known.Exists && (m.known.Ready || whyBusy(m) != "")
}

// status is what is known best. It is never nil.
func (m *model) status() *ops.Status {
	switch {
	case m.live != nil && m.known.Exists:
		return m.live
	case m.known.Status != nil:
		return m.known.Status
	}
	return &ops.Status{State: "absent"}
}

func (m *model) name() string {
	if m.known.Name != "" {
		return m.known.Name
	}
	return "hermes-box"
}

// learn takes in what the host's files say.
func (m *model) learn(k Known) tea.Cmd {
	had, came := m.hasBox(), k.Exists && !m.known.Exists
	if k.Name != m.known.Name { // the config has been edited: this is another box
		m.live = nil
	}
	m.known = k
	if m.watching() && (k.Status == nil || k.Status.Underway == nil || !k.Status.Underway.Running) {
		m.unwatch()
	}
	if !k.Exists {
		m.live = nil
		m.poll.slower() // nobody answers, and files change seldom
	}
	switch {
	case came: // some other command has made it; an answer from before says nothing of it
		m.live = nil
		m.poll.wake()
		return m.ask()
	case !m.hasBox() && !m.running() && (had || !m.first.checks.begun()):
		return m.firstChecks()
	}
	return nil
}

// running is whether an operation of ours is under way.
func (m *model) running() bool { return m.op != nil && !m.op.ended && !m.op.watched }

// quit ends the dashboard, or asks where that would end an operation too.
func (m *model) quit() tea.Cmd {
	if m.running() {
		m.dialog = m.leave()
		return nil
	}
	m.stop()
	return tea.Quit
}

// bound gives what is asked of the box an end.
func (m *model) bound(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(m.ctx, d, errors.New("no answer in "+d.String()))
}
