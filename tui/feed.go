package tui

import (
	"context"
	"sync"
	"time"
)

// feedPace is the shortest time between two batches of a feed, for about thirty batches a second.
const feedPace = 33 * time.Millisecond

// feed carries items from a goroutine to Update, in batches, so that a flood of events does not delay keys. push never
// waits.
type feed[T any] struct {
	merge func(queued []T, next T) []T // nil: append

	mu     sync.Mutex
	direct func(T) // gets the items in place of the queue; set by divert
	queued []T
	err    error
	ended  bool
	signal chan struct{} // holds one token while items are queued
	last   time.Time
}

// batch is one delivery of a feed. The last one has ended set.
type batch[T any] struct {
	from  *feed[T]
	items []T
	ended bool
	err   error
}

func newFeed[T any](merge func([]T, T) []T) *feed[T] {
	return &feed[T]{merge: merge, signal: make(chan struct{}, 1)}
}

func (f *feed[T]) push(v T) {
	f.mu.Lock()
	switch {
	case f.direct != nil:
		f.direct(v)
	case f.merge != nil:
		f.queued = f.merge(f.queued, v)
	default:
		f.queued = append(f.queued, v)
	}
	f.mu.Unlock()
	f.wake()
}

// divert calls a function with the queued items, and from then on with each item as it is pushed.
func (f *feed[T]) divert(to func(T)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.queued {
		to(v)
	}
	f.queued, f.direct = nil, to
}

// end closes the feed with the error of its producer, or nil.
func (f *feed[T]) end(err error) {
	f.mu.Lock()
	f.ended, f.err = true, err
	f.mu.Unlock()
	f.wake()
}

func (f *feed[T]) wake() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// next waits for new items. It is called by a tea.Cmd; only one call may run at a time.
func (f *feed[T]) next(ctx context.Context) batch[T] {
	if wait := feedPace - time.Since(f.last); wait > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	select {
	case <-ctx.Done():
		return batch[T]{from: f, ended: true, err: ctx.Err()}
	case <-f.signal:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = time.Now()
	b := batch[T]{f, f.queued, f.ended, f.err}
	f.queued = nil
	return b
}
