package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/internal/sanitize"
	"hermes-box/ops"
)

// How often the box is asked: often while something changes or the person uses the dashboard, seldom otherwise. While
// the terminal has lost the focus only the host's files are read, which cost nothing.
const (
	pollOften  = 3 * time.Second
	pollSeldom = 15 * time.Second
	// statusBound is the most an answer may take. A limactl that hangs costs ops five seconds of it.
	statusBound = 30 * time.Second
)

// poll decides when the box is asked next.
type poll struct {
	every   time.Duration
	turn    int // of the tick that counts; older ones are dropped
	blurred bool
	digest  string // of the last answer, to see whether anything has changed
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

// adapt asks seldomer while the answers stay the same.
func (p *poll) adapt(st *ops.Status) {
	digest := fmt.Sprint(st.State, st.Cause, st.Busy, st.LockError)
	for _, c := range st.Components {
		digest += fmt.Sprint(c.State, c.Applied, c.Desired, c.Service)
	}
	if digest == p.digest {
		p.slower()
	} else {
		p.wake()
	}
	p.digest = digest
}

// pollNow asks at once, and again from time to time.
func (m *model) pollNow() tea.Cmd {
	m.poll.turn++
	every := m.poll.every
	if m.poll.blurred {
		every = pollSeldom
	}
	return tea.Batch(m.readFiles(), m.ask(), m.after(every, tickMsg{m.poll.turn}))
}

func (m *model) tick(t tickMsg) tea.Cmd {
	if t.turn != m.poll.turn {
		return nil
	}
	return m.pollNow()
}

// focused notes that somebody looks: the terminal says so, or a key was pressed in it. Terminals do not always report that
// they have the focus again, so a key is proof enough; it acts on what the host's files say now.
func (m *model) focused() tea.Cmd {
	if !m.poll.blurred {
		return nil
	}
	m.poll.blurred = false
	m.poll.wake()
	return tea.Batch(m.readFilesNow(), m.pollNow())
}

// readFiles reads the host's files.
func (m *model) readFiles() tea.Cmd {
	return m.tasks.do(func() tea.Msg { return knownMsg{m.box.Known()} })
}

// readFilesNow reads the host's files at once, which takes about a millisecond.
func (m *model) readFilesNow() tea.Cmd { return m.learn(readKnown(m.box)) }

func readKnown(b Box) Known {
	k := b.Known()
	sanitize.Value(k.Status)
	return k
}

// ask asks the box itself, unless nobody looks, the last question is still open, or an operation is under way, whose events tell.
func (m *model) ask() tea.Cmd {
	if m.poll.blurred || m.asking || m.own != nil || !m.known.Exists {
		return nil
	}
	m.asking, m.asked = true, m.now()
	asked := m.asked
	return m.tasks.do(func() tea.Msg {
		ctx, cancel := m.bound(statusBound)
		defer cancel()
		st, err := m.box.Status(ctx)
		return statusMsg{st, err, asked, m.now()}
	})
}

// learn takes in what the host's files say.
func (m *model) learn(k Known) tea.Cmd {
	had, came := m.hasBox(), k.Exists && !m.known.Exists
	contradicted := m.state.learn(k, m.now())
	if u := m.underway(); m.watching() && (u == nil || !u.Running || u.PID != m.op.pid || !u.Started.Equal(m.op.begun)) {
		m.op.stop() // its last events are read yet
	}
	if !k.Exists {
		m.poll.slower() // nobody answers, and files seldom change
	}
	switch {
	case came || contradicted && k.Exists:
		m.poll.wake()
		return m.ask()
	case !m.hasBox() && m.own == nil && (had || !m.first.checks.begun()):
		return m.firstChecks()
	}
	return nil
}
