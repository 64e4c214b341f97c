package tui

import (
	"context"
	"errors"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// worker runs slow work outside Update. The work ends with the context of the worker, which ends with the dashboard.
type worker struct {
	ctx   context.Context
	stop  context.CancelFunc
	box   Box
	tasks *tasks
	now   func() time.Time
	after func(time.Duration, tea.Msg) tea.Cmd // delivers a message later
}

func newWorker(ctx context.Context, b Box) *worker {
	ctx, stop := context.WithCancel(ctx)
	return &worker{ctx: ctx, stop: stop, box: b, tasks: &tasks{}, now: time.Now, after: after}
}

func after(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

// bound returns a context with a deadline, for a request to the box.
func (w *worker) bound(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(w.ctx, d, errors.New("no answer in "+d.String()))
}

// tasks counts the work that runs outside Update, so that quitting can wait for it.
type tasks struct {
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// begin counts one more task. It returns false once wait was called.
func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.wg.Add(1)
	}
	return !t.closed
}

// do returns a command that is counted while it runs.
func (t *tasks) do(f func() tea.Msg) tea.Cmd {
	return func() tea.Msg {
		if !t.begin() {
			return nil
		}
		defer t.wg.Done()
		return f()
	}
}

// wait refuses new tasks and waits for the running ones to end, for at most limit.
func (t *tasks) wait(limit time.Duration) {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	done := make(chan struct{})
	go func() { t.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
