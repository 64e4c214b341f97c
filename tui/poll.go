package tui

import (
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// How often the box is asked: often while something changes or the person is at it, seldom otherwise, never while
// the terminal has lost focus.
const (
	pollOften  = 3 * time.Second
	pollSeldom = 15 * time.Second
	// statusBound is the most an answer may take. A limactl that hangs costs ops five seconds of it.
	statusBound = 30 * time.Second
)

// poll is when the box is asked next.
type poll struct {
	every   time.Duration
	turn    int // of the tick that counts; an older one is of no use any more
	blurred bool
	asking  bool
	asked   time.Time
	seen    time.Time // of the last answer
	digest  string    // of the last answer, to see whether anything has changed
	load    []float64 // of the CPUs, a part of one, the newest last
	err     error     // of the last question
	ahead   time.Duration
}

func newPoll() poll { return poll{every: pollOften} }

type (
	knownMsg  struct{ known Known }
	statusMsg struct {
		status *ops.Status
		err    error
		asked  time.Time
		at     time.Time
	}
	tickMsg struct{ turn int }
)

// wake asks often again.
func (p *poll) wake() { p.every = pollOften }

func (p *poll) slower() { p.every = min(p.every*3/2, pollSeldom) }

// pollNow asks at once, and then from time to time.
func (m *model) pollNow() tea.Cmd {
	m.poll.turn++
	turn := m.poll.turn
	return tea.Batch(m.look(), m.ask(), m.after(m.poll.every, tickMsg{turn}))
}

func (m *model) tick(t tickMsg) tea.Cmd {
	if t.turn != m.poll.turn || m.poll.blurred {
		return nil
	}
	return m.pollNow()
}

func (m *model) focused() tea.Cmd {
	m.poll.blurred = false
	m.poll.wake()
	return tea.Batch(m.pollNow(), m.pulse())
}

// look reads the host's files.
func (m *model) look() tea.Cmd {
	return m.tasks.do(func() tea.Msg { return knownMsg{m.box.Known()} })
}

// ask asks the box itself, unless the last question is still open or an operation tells anyway.
func (m *model) ask() tea.Cmd {
	if m.poll.asking || m.running() || !m.known.Exists {
		return nil
	}
	m.poll.asking, m.poll.asked = true, m.now()
	asked := m.poll.asked
	return m.tasks.do(func() tea.Msg {
		ctx, cancel := m.bound(statusBound)
		defer cancel()
		st, err := m.box.Status(ctx)
		return statusMsg{st, err, asked, m.now()}
	})
}

// answered takes in what the box says. A failed question leaves the last answer, which then grows old.
func (m *model) answered(msg statusMsg) {
	p := &m.poll
	p.asking, p.err = false, msg.err
	if msg.err != nil || msg.status == nil {
		return
	}
	m.live, p.seen = msg.status, msg.at
	if g := msg.status.Guest; g != nil && msg.status.Live {
		p.load = append(p.load, g.Load/float64(max(1, g.CPUs)))
		if len(p.load) > 60 {
			p.load = p.load[1:]
		}
		if t, err := time.Parse(time.RFC3339Nano, g.Now); err == nil {
			p.ahead = t.Sub(msg.at)
			if t.After(msg.asked) && t.Before(msg.at) {
				p.ahead = 0
			}
		}
	}
	digest := fmt.Sprint(msg.status.State, msg.status.Cause, msg.status.Busy, msg.status.LockError)
	for _, c := range msg.status.Components {
		digest += fmt.Sprint(c.State, c.Applied, c.Desired, c.Service)
	}
	if digest == p.digest {
		p.slower()
	} else {
		p.wake()
	}
	p.digest = digest
}

// stale is how old what is shown is; 0 if it is of now.
func (m *model) stale() time.Duration {
	st := m.status()
	switch {
	case st.Seen != nil && !st.Live:
		return max(m.now().Sub(*st.Seen), time.Second)
	case st.Live && m.poll.asking && m.now().Sub(m.poll.asked) > 2*pollOften:
		return m.now().Sub(m.poll.seen)
	}
	return 0
}

// tasks counts what is under way outside Update, so that leaving can wait for it to be gone.
type tasks struct {
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.wg.Add(1)
	}
	return !t.closed
}

// do is a command that is counted while it runs.
func (t *tasks) do(f func() tea.Msg) tea.Cmd {
	return func() tea.Msg {
		if !t.begin() {
			return nil
		}
		defer t.wg.Done()
		return f()
	}
}

// wait begins nothing any more, and waits a little for what has begun.
func (t *tasks) wait(limit time.Duration) {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	gone := make(chan struct{})
	go func() { t.wg.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(limit):
	}
}
