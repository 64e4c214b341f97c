package tui

import (
	"fmt"
	"testing"
)

// A log that goes on while nobody looks, as during an attach, does not grow without end; its newest lines stay.
func TestLogThatNobodyTakesInHasAnEnd(t *testing.T) {
	m := on(withStatus(running()))
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
