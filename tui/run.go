package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/ops"
)

// longRun is the shortest duration of an operation whose end is announced to a terminal without the focus.
const longRun = 30 * time.Second

// begin runs an operation and shows it.
func (m *model) begin(v verb) tea.Cmd {
	m.show(onOperation)
	return m.beginBehind(v)
}

// beginBehind runs an operation and keeps the current view.
func (m *model) beginBehind(v verb) tea.Cmd {
	if !m.tasks.begin() {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	o := &operation{verb: v, box: m.name(), begun: m.now(), stop: cancel, feed: newFeed(mergeEvents), done: make(chan struct{}),
		about: m.bytesOf(v.Operation)}
	m.op, m.own = o, o
	go func() {
		defer m.tasks.wg.Done()
		defer cancel()
		err := guarded(func() (err error) {
			o.result, err = v.run(ctx, m.box, o.feed.push)
			return err
		})
		o.outcomeErr = err
		o.feed.end(err)
		close(o.done)
	}()
	return tea.Batch(o.listen(), o.startPulse(m.worker))
}

// guarded turns a panic into an error, so that the terminal is restored.
func guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return do()
}

// progressed handles a batch of events.
func (m *model) progressed(b batch[ops.Event]) tea.Cmd {
	o := m.op
	if o == nil || b.from != o.feed {
		return nil
	}
	for _, e := range b.items {
		o.apply(e)
	}
	if !b.ended {
		return o.listen()
	}
	return m.finished(o, b.err)
}

// finished shows the outcome of an operation, in whichever view is open, and asks the box for its state.
func (m *model) finished(o *operation, err error) tea.Cmd {
	o.finish(err, m.now())
	m.own, m.note = nil, ""
	m.forget(m.now())
	if o.verb.Name == "backup" && !o.wasCanceled() {
		m.backupFailed = time.Time{}
		if err != nil {
			m.backupFailed = m.now()
		}
	}
	if m.dialog != nil && m.dialog.aboutOperation {
		m.dialog = nil
	}
	switch {
	case o.ending() == "failed":
		f := &failure{err: err, what: o.verb.name, output: o.output}
		m.lastFailure = f
		switch {
		case m.view != onOperation:
			m.fail(f)
		case o.refused() && m.dialog == nil && m.finder == nil:
			m.op = nil
			m.show(m.below())
			m.refuse(o.verb.form, err)
		} // otherwise the view of the operation shows the error
	case m.view != onOperation:
		_, m.note = o.outcome()
	}
	cmds := []tea.Cmd{m.pollNow()}
	if made, ok := o.result.(*ops.BackupMade); ok && err == nil {
		cmds = append(cmds, m.readFilesNow()) // the list has it now
		m.backups.id = made.ID
	}
	if o.took > longRun && m.poll.blurred {
		cmds = append(cmds, tea.Raw("\a"+ansi.Notify("hermes-box: "+o.announcement())))
	}
	return tea.Batch(cmds...)
}

// announcement returns the outcome in one line, for the notification of the terminal.
func (o *operation) announcement() string {
	if good, line := o.outcome(); good || o.wasCanceled() {
		return line
	}
	return o.verb.name + " of " + o.box + " failed"
}

func (m *model) askCancel() tea.Cmd {
	q := confirm("Cancel the "+m.op.verb.name+"?", m.op.verb.cancel)
	q.aboutOperation = true
	q.No, q.Yes = "keep running", "cancel it"
	q.yes = func(m *model) tea.Cmd {
		m.cancelOperation()
		return nil
	}
	m.dialog = q
	return nil
}

func (m *model) cancelOperation() {
	if m.own != nil {
		m.own.canceled = true
		m.own.stop()
	}
}

// askLeave returns the question whether to quit, which would cancel the operation.
func (m *model) askLeave() *question {
	q := confirm("Leave while the "+m.own.verb.name+" is under way?", "Leaving cancels it safely first. "+m.own.verb.cancel)
	q.aboutOperation = true
	q.No, q.Yes = "stay", "cancel it and leave"
	q.yes = func(m *model) tea.Cmd {
		if m.own != nil {
			m.own.left = true
		}
		m.cancelOperation()
		m.stop()
		return tea.Quit
	}
	return q
}

// below returns the view to go back to from the view of the operation.
func (m *model) below() place {
	switch {
	case m.op != nil && m.op.ended && m.op.err == nil && m.op.verb.Name == "restore": // there is a box now
		return onDashboard
	case m.under == onFiles && m.files.of.ID == "": // that view was closed meanwhile
		return onBackups
	}
	return m.under
}

// dismiss drops an operation that has ended, and goes back to the view below it.
func (m *model) dismiss() tea.Cmd {
	m.show(m.below())
	if m.own == nil {
		m.op = nil
	}
	return tea.Batch(m.pollNow(), m.firstChecks())
}

// behind handles a key that has no meaning in the view of an operation, while its outcome is shown. The key acts in the
// view below or, if it has no meaning there either, on the dashboard: the outcome names some keys of the dashboard.
// A key that acts on what that view shows, such as a suggestion, does nothing.
func (m *model) behind(name string) tea.Cmd {
	at := m.below()
	b, ok := find(m.keys, at, name)
	if at == onDashboard || !ok {
		if at = onDashboard; !m.hasBox() {
			at = onFirst
		}
		b, ok = find(m.keys, at, name)
	}
	if !ok || b.move {
		m.note = m.noKey(name)
		return nil
	}
	cmd := m.dismiss()
	if at&(onDashboard|onFirst) != 0 {
		m.show(onDashboard)
	}
	return tea.Batch(cmd, m.press(b))
}
