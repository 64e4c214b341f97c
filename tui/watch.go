package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// watching reports whether the operation on the screen is run by another process and has not ended.
func (m *model) watching() bool { return m.op != nil && m.op.watched && !m.op.ended }

// watch shows the operation of another process from the events in the log of operations. It follows the log only while
// the operation is on the screen. The user cannot cancel the operation from here.
func (m *model) watch(u *ops.Underway) tea.Cmd {
	if !m.tasks.begin() {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	o := &operation{verb: verbOf(u.Operation), box: m.name(), begun: u.Started, watched: true, pid: u.PID, stop: cancel,
		feed: newFeed(mergeEvents), done: make(chan struct{})}
	o.about = m.bytesOf(o.verb.Operation)
	m.show(onOperation)
	m.op = o
	go func() {
		defer m.tasks.wg.Done()
		defer cancel()
		o.outcomeErr = followEvents(ctx, m.worker, u, o.feed.push)
		o.feed.end(o.outcomeErr)
		close(o.done)
	}()
	return tea.Batch(o.listen(), o.startPulse(m.worker))
}

// followEvents pushes the events of an operation of another process until it has ended or ctx ends, and returns its
// outcome.
func followEvents(ctx context.Context, w *worker, u *ops.Underway, push func(ops.Event)) error {
	ctx, ended := context.WithCancel(ctx)
	defer ended()
	r := &eventReader{of: u, push: push, ended: ended}
	err := w.box.Logs(ctx, "operations", logLines, true, r)
	if !r.over && w.ctx.Err() == nil { // it may have ended between two reads, so read its last events from the file
		last := &eventReader{of: u, push: push, skip: r.taken, ended: func() {}}
		err = errors.Join(err, w.box.Logs(w.ctx, "operations", logLines, false, last))
		r.finished, r.failed = last.finished, last.failed
	}
	switch {
	case r.finished && r.failed == "":
		return nil
	case r.finished:
		return errors.New(r.failed)
	case r.over && r.planned.IsZero():
		return fmt.Errorf("%s has ended, and another operation has begun", u.Operation)
	case err == nil || errors.Is(err, context.Canceled):
		return fmt.Errorf("%s was cut off: its process (pid %d) is gone", u.Operation, u.PID)
	}
	return err
}

// eventReader reads the events of one operation from a log that may also hold events of earlier and later operations.
type eventReader struct {
	of    *ops.Underway
	push  func(ops.Event)
	ended func() // called when the operation is over
	rest  []byte

	skip  int // number of events that were pushed already
	taken int // events of the operation so far

	planned  time.Time // when its plan was made
	over     bool      // the operation has finished, or another one has begun
	finished bool
	failed   string // its error, once it has finished
}

func (r *eventReader) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	for {
		line, rest, ok := bytes.Cut(r.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		r.rest = rest
		var e ops.Event
		if json.Unmarshal(line, &e) == nil && !r.over && !e.Time.Before(r.of.Started) {
			r.take(e)
		}
	}
}

func (r *eventReader) take(e ops.Event) {
	if e.Operation != r.of.Operation || e.Kind == ops.Planned && !r.planned.IsZero() { // another one has begun
		r.over = true
		r.ended()
		return
	}
	if e.Kind == ops.Planned {
		r.planned = e.Time
	}
	if r.taken++; r.taken > r.skip && e.Kind != ops.Finished {
		r.push(e)
	}
	if e.Kind == ops.Finished {
		r.over, r.finished, r.failed = true, true, e.Error
		r.ended()
	}
}
