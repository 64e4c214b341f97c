package tui

import (
	"context"
	"os"
	"slices"

	tea "charm.land/bubbletea/v2"

	"hermes-box/internal/sanitize"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// model is the whole dashboard and the only Tea model. Its views are plain structs that get their data as arguments.
// No view refers to another view or to the model.
type model struct {
	*worker
	state
	poll poll

	keys   []binding
	theme  widget.Theme
	ascii  bool
	frames *widget.Frames // nil if frames are drawn at a fixed rate
	dir    string         // the working directory, in which relative paths begin
	label  string         // beside the name of the box on every screen: "demo"

	typed  func(string) string // rewrites the commands in a text so that they can be pasted here
	browse func(string) error  // opens an address; nil if there is no browser
	signer func(ctx context.Context, step string) error

	w, h  int
	mouse bool
	note  string // shown in place of the footer, until the next key

	view      place // onDashboard also for the first view
	under     place // the view to go back to from that of an operation
	dashboard dashboard
	first     first
	details   details
	drift     drift
	logs      logs
	doctor    doctor
	backups   backups
	files     backupFiles
	op        *operation // the last operation, until it is dismissed

	// On top of the view, the topmost first.
	failure *failure
	dialog  *question
	finder  *finder

	lastFailure *failure
	attaching   context.CancelFunc // cancels the attach that is under way; nil if there is none
}

func newModel(ctx context.Context, b Box) *model {
	m := &model{worker: newWorker(ctx, b), theme: widget.NewTheme(""), keys: bindings(),
		typed: func(s string) string { return s }, mouse: true, view: onDashboard, under: onDashboard, poll: newPoll(), logs: newLogs()}
	m.dir, _ = os.Getwd() // without one, ops refuses relative paths
	m.known = readKnown(b)
	return m
}

// bindings returns the one table of keys.
func bindings() []binding {
	return slices.Concat(moveBindings(), viewBindings(), verbBindings(), operationBindings(), logBindings(), doctorBindings(),
		backupBindings(), fileBindings(), commonBindings())
}

// Init asks the box for its state. The first frame does not wait for the answer.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.pollNow(), m.firstChecks())
}

// Update changes the dashboard. It never waits: slow work is done by commands.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.frames.Wake()
	return m, m.update(msg)
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return tea.Batch(m.focused(), m.key(msg))
	case tea.PasteMsg:
		return tea.Batch(m.focused(), m.paste(msg.Content))
	case tea.MouseMsg:
		return tea.Batch(m.focused(), m.clicked(msg))
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
		if msg.err == nil && msg.status != nil {
			m.poll.adapt(msg.status)
		}
	case tickMsg:
		return m.tick(msg)
	case pulseMsg:
		return m.op.pulsed(m.worker, msg)
	case batch[ops.Event]:
		sanitize.Value(&msg.items)
		return m.progressed(msg)
	case batch[ops.Check]:
		sanitize.Value(&msg.items)
		return tea.Batch(m.first.checks.take(m.worker, msg), m.doctor.checks.take(m.worker, msg))
	case batch[string]:
		return m.logs.take(m.worker, msg)
	case filesMsg:
		m.files.loaded(msg)
	case neededMsg:
		m.askNeeded(msg)
	case rereadMsg:
		return m.logs.reread(m.worker, msg, m.view == onLogs, m.poll.blurred)
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

// key passes a key to whatever is on top of the view or, if nothing is, to the table of keys.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	m.note = ""
	m.poll.wake()
	name := k.String()
	switch {
	case name == "ctrl+z":
		return tea.Suspend
	case m.small(): // the user could not see what a key does
		if (name == "q" || name == "ctrl+c") && m.own == nil {
			return m.quit()
		}
		return nil
	case m.attaching != nil: // the terminal is about to be handed over, so nothing else may begin
		if name == "esc" || name == "ctrl+c" || name == "q" {
			m.attaching()
		} else {
			m.note = m.attachNote()
		}
		return nil
	case m.failure != nil:
		return m.failureKey(name)
	case m.dialog != nil:
		return m.answer(k)
	case m.finder != nil:
		return m.finderKey(k)
	case m.view == onLogs && m.logs.typing:
		m.logs.typeKey(k)
		return nil
	case m.view == onFiles && m.files.typing:
		m.files.typeKey(k)
		return nil
	}
	if m.view == onOperation && name != "ctrl+c" && m.op.ignores(m.now()) {
		return nil
	}
	b, ok := find(m.keys, m.place(), name)
	switch {
	case ok:
		return m.press(b)
	case m.view == onOperation && m.op != nil && m.op.ended:
		return m.behind(name)
	}
	m.note = m.noKey(name)
	return nil
}

// paste adds a pasted text where text is typed. It answers no question and presses no key.
func (m *model) paste(text string) tea.Cmd {
	text = widget.Pasted(text)
	switch {
	case m.small() || m.attaching != nil || m.failure != nil:
	case m.dialog != nil:
		return m.dialog.Paste(text)
	case m.finder != nil:
		m.finder.add(text)
	case m.view == onLogs && m.logs.typing:
		m.logs.query.Add(text)
	case m.view == onFiles && m.files.typing:
		m.files.query.Add(text)
		m.files.search(m.files.query.Text)
	}
	return nil
}

// place returns the view whose bindings apply.
func (m *model) place() place {
	if m.view == onDashboard && !m.hasBox() {
		return onFirst
	}
	return m.view
}

// show switches to a view, and ends the work that only the previous view needs.
func (m *model) show(view place) {
	if view != onLogs && view != onDetails {
		m.logs.end()
	}
	if view == onOperation && m.view != onOperation {
		if m.under = m.view; m.view != onBackups && m.view != onFiles {
			m.under = onDashboard
		}
	}
	if view != onFiles && (view != onOperation || m.under != onFiles) {
		m.files.close() // a list may be long
	}
	if view != onOperation && m.op != nil && m.op.watched {
		m.op.stop()
		m.op = nil
	}
	m.view = view
}

// quit ends the dashboard. It asks first if that would cancel an operation.
func (m *model) quit() tea.Cmd {
	if m.own != nil {
		m.dialog = m.askLeave()
		return nil
	}
	m.stop()
	return tea.Quit
}

// page returns the theme and the time that views draw with.
func (m *model) page() page { return page{Theme: m.theme, now: m.now(), typed: m.typed} }
