package tui

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hermes-box/ops"
)

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

// A log that nobody takes lines from, as during an attach, keeps only its newest lines.
func TestLogThatNobodyTakesInHasAnEnd(t *testing.T) {
	m := on(withStatus(runningStatus()))
	m.openLogs("hermes")
	const all = 10 * logLines
	for i := range all {
		m.logs.feed.push(fmt.Sprint("line ", i))
	}
	b := m.logs.feed.next(t.Context())
	if n := len(b.items); n < logLines || n > 2*logLines || b.items[n-1] != fmt.Sprint("line ", all-1) || b.items[n-logLines] != fmt.Sprint("line ", all-logLines) {
		t.Errorf("%d lines are kept, the last is %s", n, b.items[n-1])
	}
}
