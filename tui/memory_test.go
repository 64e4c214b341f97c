package tui

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
)

// For an hour an operation reports all the time, the box is polled, a log is followed and a user switches between the
// views. After twelve minutes all buffers are full, and memory must not grow any more.
func TestMemoryIsFlatOverAnHour(t *testing.T) {
	m := on(withStatus(runningStatus()))
	now := noon
	m.now = func() time.Time { return now }
	creating(9, nil)(m)
	press(m, "l")
	var after12 uint64
	for second := range 3600 {
		now = now.Add(time.Second)
		m.progressed(batch[ops.Event]{from: m.op.feed, items: secondOfWork(now, second)})
		m.update(pulseMsg{m.op.pulse})
		if second%3 == 0 {
			st := runningStatus()
			st.Guest.Load = float64(second%40) / 10
			m.answered(statusMsg{status: st, asked: now, at: now})
		}
		if m.logs.feed == nil {
			m.logs.feed = newFeed[string](nil)
		}
		m.logs.take(m.worker, batch[string]{from: m.logs.feed, items: manyLines(20)})
		if second%10 == 0 {
			keys := []string{"d", "esc", "l", "esc", "o", "?", "esc", ":", "esc", "enter", "l", "s"}
			press(m, keys[second/10%len(keys)])
			m.frame()
		}
		if second == 720 {
			after12 = heap()
		}
	}
	if m.own == nil || len(m.op.log) < logLines*8/10 {
		t.Fatalf("operation ended: %v; %d lines of its log", m.op.ended, len(m.op.log))
	}
	if end := heap(); end > after12+after12/10+256<<10 {
		t.Errorf("%d KiB after twelve minutes, %d KiB after an hour", after12>>10, end>>10)
	} else {
		t.Logf("%d KiB after twelve minutes, %d KiB after an hour", after12>>10, end>>10)
	}
	if want := m.logs.lines[len(m.logs.lines)-1]; !strings.Contains(want, "message 19") {
		t.Errorf("the last line of the log is %s", want)
	}
}

// secondOfWork returns what an operation reports in a second: lines, bytes, phases and warnings.
func secondOfWork(now time.Time, second int) (all []ops.Event) {
	for i := range 20 {
		all = append(all, ops.Event{Time: now, Kind: ops.Log, Step: "install", Line: fmt.Sprintf("line %d of second %d", i, second)},
			ops.Event{Time: now, Kind: ops.Bytes, Step: "upload", Done: int64(second*20 + i), Total: 1 << 40})
	}
	all = append(all, ops.Event{Time: now, Kind: ops.Phase, Step: "install", Component: "codex", Phase: protocol.PhaseSmoke, State: protocol.Started},
		ops.Event{Time: now, Kind: ops.Warning, Step: "install", Line: fmt.Sprint("the clock is off by ", second)})
	return all
}

// heap returns the bytes in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // the second collection empties the pools
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
