package tui

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hermes-box/ops"
)

// A feed delivers all items in order, in no more than one batch per feedPace.
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
				t.Fatalf("%d comes after %d", v, n-1) // out of order
			}
			n++
		}
		if b.ended {
			if n != 10_000 || b.err == nil {
				t.Errorf("%d of 10000 items, error %v", n, b.err)
			}
			break
		}
	}
	if most := int(time.Since(begun)/feedPace) + 2; batches > most {
		t.Errorf("%d batches in %v", batches, time.Since(begun))
	}
}

// mergeEvents keeps only the newest of successive byte counts of a step, and moves none past the end of its step.
func TestMergeEvents(t *testing.T) {
	var q []ops.Event
	for i := range 1000 {
		q = mergeEvents(q, ops.Event{Kind: ops.Bytes, Step: "fetch", Done: int64(i)})
		q = mergeEvents(q, ops.Event{Kind: ops.Bytes, Step: "image", Done: int64(i)})
	}
	if len(q) != 2 || q[0].Done != 999 {
		t.Errorf("%d of 2000 events are kept, want 2", len(q))
	}
	q = mergeEvents(q, ops.Event{Kind: ops.Done, Step: "fetch"})
	q = mergeEvents(q, ops.Event{Kind: ops.Bytes, Step: "fetch", Done: 5})
	if len(q) != 4 || q[2].Kind != ops.Done {
		t.Errorf("bytes are moved past the end of the step: %v", q)
	}
}

// The queue of a log that is not drawn, as during an attach, keeps only the newest lines.
func TestLogQueueIsBounded(t *testing.T) {
	m := on(withStatus(runningStatus()))
	m.openLogs("hermes")
	const n = 10 * logLines
	for i := range n {
		m.logs.feed.push(fmt.Sprint("line ", i))
	}
	b := m.logs.feed.next(t.Context())
	if kept := len(b.items); kept < logLines || kept > 2*logLines ||
		b.items[kept-1] != fmt.Sprint("line ", n-1) || b.items[kept-logLines] != fmt.Sprint("line ", n-logLines) {
		t.Errorf("%d lines are kept, the last is %s", kept, b.items[kept-1])
	}
}
