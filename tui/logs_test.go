package tui

import (
	"strings"
	"testing"
)

// logOf returns a dashboard that shows a log with these lines.
func logOf(source string, lines []string) *model {
	m := on(withStatus(runningStatus()))
	m.view, m.logs.source, m.logs.lines = onLogs, source, lines
	return m
}

// A log follows its end until the user scrolls or presses f, and follows again once the user is back at the end.
func TestLogFollows(t *testing.T) {
	m := logOf("hermes", manyLines(100))
	m.logs.feed = newFeed[string](nil)
	more := func(lines ...string) { m.logs.take(m.worker, batch[string]{from: m.logs.feed, items: lines}) }
	if s := screen(m); !strings.Contains(s, "message 99") {
		t.Fatalf("the log does not open at its end:\n%s", s)
	}
	more("a new line")
	if s := screen(m); !strings.Contains(s, "a new line") {
		t.Errorf("the new line is not shown:\n%s", s)
	}
	press(m, "k")
	before := m.logs.top
	more("one more")
	if s := screen(m); m.logs.top != before || strings.Contains(s, "one more") || m.logs.follow {
		t.Errorf("the log moves while the user reads above its end:\n%s", s)
	}
	press(m, "G")
	if s := screen(m); !strings.Contains(s, "one more") || !m.logs.follow {
		t.Errorf("going to the end does not resume following:\n%s", s)
	}
	press(m, "f")
	more("not seen")
	if s := screen(m); strings.Contains(s, "not seen") {
		t.Errorf("f does not stop following:\n%s", s)
	}
}

// A search ignores case, n and N go through its matches, and esc leaves the search but not the log.
func TestLogSearches(t *testing.T) {
	m := logOf("hermes", manyLines(100))
	press(m, "/", "q", "1", "esc")
	if m.logs.query.Text != "" || m.view != onLogs {
		t.Fatal("esc does not end the search, or leaves the log")
	}
	press(m, "/", "E", " ", "3", "enter") // matches "message 3", "message 30" and so on
	screen(m)
	if n := len(m.logs.drawn.matches); n != 11 {
		t.Errorf("%d lines match, want 11: 3 and 30 to 39", n)
	}
	press(m, "g", "n", "n")
	if m.logs.top != 30 {
		t.Errorf("n goes to line %d", m.logs.top)
	}
	press(m, "N")
	if m.logs.top != 3 {
		t.Errorf("N goes to line %d", m.logs.top)
	}
}

// A long line is cut, or wrapped after z, also when the width changes.
func TestLogWraps(t *testing.T) {
	m := logOf("hermes", []string{strings.Repeat("x", 100) + "END"})
	if s := screen(m); strings.Contains(s, "END") {
		t.Errorf("the line is not cut:\n%s", s)
	}
	press(m, "z")
	if s := screen(m); !strings.Contains(s, "END") {
		t.Errorf("the line is not wrapped:\n%s", s)
	}
	m.update(sized(60, 24))
	if s := screen(m); !strings.Contains(s, "END") || len(m.logs.drawn.lines) != 2 {
		t.Errorf("%d lines:\n%s", len(m.logs.drawn.lines), s)
	}
}

// A log file is read again as a whole. The old lines stay until all of it has been read.
func TestLogOfAFile(t *testing.T) {
	f := withStatus(runningStatus())
	f.log = "one\ntwo\n"
	m := on(f)
	drain(m, m.openLogs("commands"))
	if got := strings.Join(m.logs.lines, " "); got != "one two" {
		t.Fatalf("%q", got)
	}
	feed := newFeed[string](nil)
	m.logs.feed = feed
	m.logs.take(m.worker, batch[string]{from: feed, items: []string{"one"}})
	if len(m.logs.lines) != 2 {
		t.Error("a half-read file replaces the old lines")
	}
	m.logs.take(m.worker, batch[string]{from: feed, items: []string{"two", "three"}, ended: true})
	if got := strings.Join(m.logs.lines, " "); got != "one two three" {
		t.Errorf("%q", got)
	}
}

// The log below the details of a component is read only while it is shown.
func TestDetailsReadTheLog(t *testing.T) {
	for _, leave := range []string{"esc", "d", "v"} {
		f := withStatus(runningStatus())
		m := on(f)
		press(m, "G", "enter")
		if m.logs.source != "executor" || m.logs.cancel == nil {
			t.Fatalf("the log of executor is not read: %s", m.logs.source)
		}
		if press(m, leave); m.logs.cancel != nil {
			t.Errorf("after %s the log is still read", leave)
		}
	}
}

// BenchmarkLongLog scrolls a log of ten thousand lines. The time should not depend on the length of the log.
func BenchmarkLongLog(b *testing.B) {
	m := testModel(withStatus(runningStatus()), 120, 40)
	m.view, m.logs.lines, m.logs.wrap = onLogs, manyLines(logLines), true
	m.frame()
	for b.Loop() {
		press(m, "k")
		m.frame()
	}
}
