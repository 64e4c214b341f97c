package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// others is what another process does to the box at this moment; nil if none does anything.
func (m *model) others() *ops.Underway {
	if u := m.status().Underway; u != nil && u.Running && u.PID != os.Getpid() {
		return u
	}
	return nil
}

// watching is whether the operation on the screen is that of another process, and goes on.
func (m *model) watching() bool { return m.op != nil && m.op.watched && !m.op.ended }

// watch shows the operation of another process, by the events it writes into its log. It is looked at only as long as
// it is on the screen; nothing here can cancel it.
func (m *model) watch(u *ops.Underway) tea.Cmd {
	if !m.tasks.begin() {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	o := &operation{verb: verbOf(u.Operation), box: m.name(), begun: u.Started, watched: true, cancel: cancel,
		feed: newFeed(mergeEvents), done: make(chan struct{})}
	m.op = o
	m.show(onOperation)
	go func() {
		defer m.tasks.wg.Done()
		defer cancel()
		w := &eventReader{since: u.Started, push: o.feed.push, ended: cancel}
		err := m.box.Logs(ctx, "operations", logLines, true, w)
		if !w.finished && m.ctx.Err() == nil { // it went away between two looks: its last words are there all the same
			w.push, w.rest = func(ops.Event) {}, nil
			err = errors.Join(err, m.box.Logs(m.ctx, "operations", logLines, false, w))
		}
		switch {
		case w.finished && w.failed == "":
			err = nil
		case w.finished:
			err = errors.New(w.failed)
		case err == nil || errors.Is(err, context.Canceled):
			err = fmt.Errorf("%s was cut off: its process (pid %d) is gone", u.Operation, u.PID)
		}
		o.outcomeErr = err
		o.feed.end(err)
		close(o.done)
	}()
	return tea.Batch(m.listen(), m.pulse())
}

// verbOf is the verb of an operation that another process does; it may be one that is not done from here.
func verbOf(name string) verb {
	all := verbs()
	if i := slices.IndexFunc(all, func(v verb) bool { return v.id == name }); i >= 0 {
		return all[i]
	}
	return verb{binding: binding{id: name}, done: name + " is finished"}
}

// unwatch ends looking at an operation that has left the screen, or whose process is gone.
func (m *model) unwatch() {
	if m.watching() {
		m.op.cancel()
	}
}

// eventReader makes events of the lines of a log, as far as they are of this operation and not of one before it.
type eventReader struct {
	since    time.Time
	push     func(ops.Event)
	ended    func() // called at its last event
	rest     []byte
	finished bool
	failed   string // what its last event says
}

func (w *eventReader) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		w.rest = rest
		var e ops.Event
		if json.Unmarshal(line, &e) != nil || e.Time.Before(w.since) || w.finished {
			continue
		}
		if e.Kind == ops.Finished {
			w.finished, w.failed = true, e.Error
			w.ended()
			continue
		}
		w.push(e)
	}
}
