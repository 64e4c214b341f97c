package tui

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// logs is the view of all logs, one at a time.
type logs struct {
	source string
	lines  []string
	coming []string // of a file that is being read anew
	err    error
	follow bool
	wrap   bool
	top    int // first line on the screen, of those as they are drawn
	drawn  drawn

	typing bool // the search is being typed
	query  string
	hits   []int // lines as they are drawn that hold the query
	nth    int   // of the hits, the one that n has gone to, counted from 1; 0: none, or the person has moved since

	feed   *feed[string]
	cancel context.CancelFunc
	turn   int
}

// rereadEvery is how often a log of the host, which is a file, is read anew while it is followed.
const rereadEvery = 2 * time.Second

type rereadMsg struct{ turn int }

func newLogs() logs { return logs{source: "hermes", follow: true} }

// ofBox are the logs that come from inside, as a stream.
func ofBox(source string) bool {
	return source == "hermes" || source == "executor" || source == "recovery"
}

// openLogs shows a log.
func (m *model) openLogs(source string) tea.Cmd {
	m.show(onLogs)
	return m.logs.open(m, source)
}

// open begins with a log anew.
func (l *logs) open(m *model, source string) tea.Cmd {
	l.end()
	*l = logs{source: source, follow: true, wrap: l.wrap, turn: l.turn}
	return l.begin(m)
}

// begin reads the log; a stream goes on as long as it is shown.
func (l *logs) begin(m *model) tea.Cmd {
	l.turn++
	turn, source, stream := l.turn, l.source, ofBox(l.source) && l.follow
	ctx, cancel := context.WithCancel(m.ctx)
	f := newFeed(newestLines)
	l.feed, l.cancel, l.coming = f, cancel, nil
	cmds := []tea.Cmd{
		m.tasks.do(func() tea.Msg {
			w := &lineFeed{push: f.push}
			err := m.box.Logs(ctx, source, logLines, stream, w)
			w.flush()
			f.end(err)
			return nil
		}),
		func() tea.Msg { return f.next(ctx) },
	}
	if !ofBox(source) {
		cmds = append(cmds, m.after(rereadEvery, rereadMsg{turn}))
	}
	return tea.Batch(cmds...)
}

// newestLines keeps of what nobody has taken in yet, as while the terminal is lent to the box, no more than can be shown.
func newestLines(queued []string, next string) []string {
	if len(queued) >= 2*logLines {
		queued = slices.Delete(queued, 0, logLines)
	}
	return append(queued, next)
}

// reread reads a file of the host once more.
func (l *logs) reread(m *model, msg rereadMsg) tea.Cmd {
	if msg.turn != l.turn || m.view != onLogs {
		return nil
	}
	turn := l.turn
	again := m.after(rereadEvery, rereadMsg{turn})
	if !l.follow || m.poll.blurred || l.feed != nil {
		return again
	}
	l.end()
	return l.begin(m)
}

// end stops reading.
func (l *logs) end() {
	if l.cancel != nil {
		l.cancel()
	}
	l.feed, l.cancel = nil, nil
}

// took takes in what has come of the log.
func (l *logs) took(m *model, b batch[string]) tea.Cmd {
	if l.feed == nil || b.from != l.feed {
		return nil
	}
	if !ofBox(l.source) { // the file as a whole
		l.coming = append(l.coming, b.items...)
		if b.ended {
			if !slices.Equal(l.lines, l.coming) {
				l.lines, l.drawn = l.coming, drawn{}
			}
			l.coming = nil
		}
	} else {
		l.lines = append(l.lines, b.items...)
		if extra := len(l.lines) - logLines; extra > logLines/10 {
			l.lines = slices.Delete(l.lines, 0, extra)
			l.drawn = drawn{}
		}
	}
	if b.ended {
		l.err = b.err
		if errors.Is(b.err, context.Canceled) {
			l.err = nil
		}
		l.end()
		return nil
	}
	f := l.feed
	return func() tea.Msg { return f.next(m.ctx) }
}

// other shows the log beside this one.
func (l *logs) other(m *model, by int) tea.Cmd {
	i := slices.Index(ops.LogSources, l.source)
	n := len(ops.LogSources)
	return m.openLogs(ops.LogSources[(i+by+n)%n])
}

// lineFeed hands on what is written to it line by line, as a person can read it.
type lineFeed struct {
	push func(string)
	mu   sync.Mutex
	rest []byte
}

func (w *lineFeed) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			break
		}
		w.push(readable(string(w.rest[:i])))
		w.rest = w.rest[i+1:]
	}
	if len(w.rest) > 64<<10 { // a line without end
		w.push(readable(string(w.rest)))
		w.rest = nil
	}
	return len(p), nil
}

func (w *lineFeed) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := strings.TrimSpace(string(w.rest)); text != "" {
		w.push(readable(text))
	}
	w.rest = nil
}
