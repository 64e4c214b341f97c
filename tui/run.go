package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// pulseEvery is how often a screen with a clock on it is drawn while an operation runs.
const pulseEvery = 500 * time.Millisecond

// longRun is from when on the end of an operation is announced to a terminal that is not looked at.
const longRun = 30 * time.Second

type pulseMsg struct{ turn int }

// begin runs a verb and shows it.
func (m *model) begin(v verb) tea.Cmd {
	if !m.tasks.begin() {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	o := &operation{verb: v, box: m.name(), begun: m.now(), cancel: cancel, feed: newFeed(mergeEvents), done: make(chan struct{})}
	m.op = o
	m.show(onOperation)
	go func() {
		defer m.tasks.wg.Done()
		defer cancel()
		err := guarded(func() error { return m.box.Do(ctx, v.operation, v.force, o.feed.push) })
		o.outcomeErr = err
		o.feed.end(err)
		close(o.done)
	}()
	return tea.Batch(m.listen(), m.pulse())
}

// guarded makes a panic an error: the terminal must be put back whatever happens.
func guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return do()
}

func (m *model) listen() tea.Cmd {
	f := m.op.feed
	return func() tea.Msg { return f.next(context.Background()) }
}

// progressed draws a batch of events.
func (m *model) progressed(b batch[ops.Event]) tea.Cmd {
	o := m.op
	if o == nil || b.from != o.feed {
		return nil
	}
	for _, e := range b.items {
		o.apply(e)
	}
	if !b.ended {
		return m.listen()
	}
	o.finish(b.err, m.now())
	m.note = ""
	failed := o.ending() == "failed"
	if !failed && m.view != onOperation {
		_, m.note = o.outcome()
	}
	if m.dialog != nil && m.dialog.aboutOperation {
		m.dialog = nil
	}
	if failed {
		f := &failure{err: b.err, what: o.verb.id, at: m.now(), output: o.output}
		m.lastFailure = f
		if m.view != onOperation { // else it is told there
			m.fail(f)
		}
	}
	m.live = nil
	cmds := []tea.Cmd{m.pollNow()}
	if o.took > longRun && m.poll.blurred {
		cmds = append(cmds, tea.Raw("\a"+ansi.Notify(fmt.Sprintf("hermes-box: %s of %s %s", o.verb.id, o.box, o.ending()))))
	}
	return tea.Batch(cmds...)
}

// pulse draws the clock of an operation, while there is one to see.
func (m *model) pulse() tea.Cmd {
	if !m.running() && !m.watching() || m.poll.blurred {
		return nil
	}
	m.op.pulse++ // one that is still to come counts no more
	return m.after(pulseEvery, pulseMsg{m.op.pulse})
}

// askCancel asks whether to cancel what is under way.
func (m *model) askCancel() tea.Cmd {
	d := confirm("Cancel the "+m.op.verb.id+"?", m.op.verb.cancel)
	d.aboutOperation = true
	d.No, d.Yes = "let it go on", "cancel it"
	d.yes = func(m *model) tea.Cmd {
		m.cancelOperation()
		return nil
	}
	m.dialog = d
	return nil
}

func (m *model) cancelOperation() {
	if m.running() {
		m.op.canceled = true
		m.op.cancel()
	}
}

// leave asks what to do with the operation that leaving would end.
func (m *model) leave() *question {
	d := confirm("Leave while the "+m.op.verb.id+" is under way?", "Leaving cancels it safely first. "+m.op.verb.cancel)
	d.aboutOperation = true
	d.No, d.Yes = "stay", "cancel it and leave"
	d.yes = func(m *model) tea.Cmd {
		m.cancelOperation()
		m.op.left = true
		m.stop()
		return tea.Quit
	}
	return d
}

// dismiss puts an operation that has ended away.
func (m *model) dismiss() tea.Cmd {
	if !m.running() {
		m.op = nil
	}
	m.show(onDashboard)
	return tea.Batch(m.pollNow(), m.firstChecks())
}

// beyond is a key of the view behind an operation that has ended: its outcome names some of them.
func (m *model) beyond(name string) tea.Cmd {
	at := onFirst
	if m.hasBox() {
		at = onDashboard
	}
	b, ok := find(m.keys, at, name)
	if !ok {
		m.note = m.elsewhere(name)
		return nil
	}
	gone := m.dismiss()
	return tea.Batch(gone, m.press(b))
}

// outcome is what is to be said of an operation that has ended.
func (o *operation) outcome() (good bool, line string) {
	if o.err == nil {
		return true, o.box + " " + o.verb.done
	}
	switch undone := slices.ContainsFunc(o.steps, func(s step) bool { return s.state == stepUndone }); {
	case o.wasCanceled() && undone:
		return false, o.verb.id + " was canceled; what it had done is undone"
	case o.wasCanceled():
		return false, o.verb.id + " was canceled"
	}
	return false, widget.Clean(o.err.Error())
}
