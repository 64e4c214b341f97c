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
	"hermes-box/tui/widget"
)

// logs is the view that shows one of the logs.
type logs struct {
	source string
	lines  []string
	coming []string // lines so far of a file that is being read again
	err    error
	follow bool
	wrap   bool
	top    int // first line on the screen
	drawn  drawn

	typing bool // the search is being typed
	query  widget.Line
	match  int // number, from 1, of the match that n has jumped to; 0: none, or the user has scrolled since

	feed   *feed[string]
	cancel context.CancelFunc
	turn   int // number of the current timer; older ones are ignored
}

// rereadEvery is the interval at which a log file of the host is read again while it is shown.
const rereadEvery = 2 * time.Second

type rereadMsg struct{ turn int }

func newLogs() logs { return logs{source: "hermes", follow: true} }

// isGuestLog reports whether a log comes from inside the box, as a stream.
func isGuestLog(source string) bool {
	return source == "hermes" || source == "executor" || source == "recovery"
}

func (m *model) openLogs(source string) tea.Cmd {
	m.show(onLogs)
	return m.logs.open(m.worker, source)
}

// open reads a log and shows its end.
func (l *logs) open(w *worker, source string) tea.Cmd {
	l.end()
	*l = logs{source: source, follow: true, wrap: l.wrap, turn: l.turn}
	return l.begin(w)
}

// begin reads the log. It follows a log of the box until end is called.
func (l *logs) begin(w *worker) tea.Cmd {
	l.turn++
	source, stream := l.source, isGuestLog(l.source) && l.follow
	ctx, cancel := context.WithCancel(w.ctx)
	f := newFeed(newestLines)
	l.feed, l.cancel, l.coming = f, cancel, nil
	cmds := []tea.Cmd{
		w.tasks.do(func() tea.Msg {
			lines := &lineFeed{push: f.push}
			err := w.box.Logs(ctx, source, logLines, stream, lines)
			lines.flush()
			f.end(err)
			return nil
		}),
		func() tea.Msg { return f.next(ctx) },
	}
	if !isGuestLog(source) {
		cmds = append(cmds, w.after(rereadEvery, rereadMsg{l.turn}))
	}
	return tea.Batch(cmds...)
}

// newestLines appends a line to the queue and drops lines that are too old to be shown. The queue grows while the
// terminal is handed over, since Update does not run then.
func newestLines(queued []string, next string) []string {
	if len(queued) >= 2*logLines {
		queued = slices.Delete(queued, 0, logLines)
	}
	return append(queued, next)
}

// reread reads a log file of the host again if it is shown. While paused it only starts the next timer.
func (l *logs) reread(w *worker, msg rereadMsg, shown, paused bool) tea.Cmd {
	if msg.turn != l.turn || !shown {
		return nil
	}
	again := w.after(rereadEvery, rereadMsg{l.turn})
	if !l.follow || paused || l.feed != nil {
		return again
	}
	l.end()
	return l.begin(w)
}

// end stops reading the log.
func (l *logs) end() {
	if l.cancel != nil {
		l.cancel()
	}
	l.feed, l.cancel = nil, nil
}

// take adds a batch of lines to the log.
func (l *logs) take(w *worker, b batch[string]) tea.Cmd {
	if l.feed == nil || b.from != l.feed {
		return nil
	}
	if isGuestLog(l.source) {
		l.lines = append(l.lines, b.items...)
		if extra := len(l.lines) - logLines; extra > logLines/10 {
			l.lines = slices.Delete(l.lines, 0, extra)
			l.drawn = drawn{}
		}
	} else { // the whole file, which replaces what was read before
		l.coming = append(l.coming, b.items...)
		if b.ended {
			if !slices.Equal(l.lines, l.coming) {
				l.lines, l.drawn = l.coming, drawn{}
			}
			l.coming = nil
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
	return func() tea.Msg { return f.next(w.ctx) }
}

// other shows the next log, or with -1 the previous one.
func (l *logs) other(w *worker, by int) tea.Cmd {
	i := slices.Index(ops.LogSources, l.source)
	n := len(ops.LogSources)
	return l.open(w, ops.LogSources[(i+by+n)%n])
}

// lineFeed splits its input into lines, makes them readable and pushes them.
type lineFeed struct {
	push func(string)
	mu   sync.Mutex
	rest []byte
}

func (f *lineFeed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = append(f.rest, p...)
	for {
		i := bytes.IndexByte(f.rest, '\n')
		if i < 0 {
			break
		}
		f.push(readable(string(f.rest[:i])))
		f.rest = f.rest[i+1:]
	}
	if len(f.rest) > 64<<10 { // do not wait for the end of a very long line
		f.push(readable(string(f.rest)))
		f.rest = nil
	}
	return len(p), nil
}

// flush pushes a last line without a line end.
func (f *lineFeed) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text := strings.TrimSpace(string(f.rest)); text != "" {
		f.push(readable(text))
	}
	f.rest = nil
}
