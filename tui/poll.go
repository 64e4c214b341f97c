package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/internal/sanitize"
	"hermes-box/ops"
)

// The intervals for asking the box: the short one while something changes or the user works in the dashboard, the long
// one otherwise. Without the focus only the host's files are read, which is cheap.
const (
	pollOften  = 3 * time.Second
	pollSeldom = 15 * time.Second
	// statusBound is the timeout for an answer. It includes five seconds for a limactl that hangs.
	statusBound = 30 * time.Second
)

// poll decides when the box is asked next.
type poll struct {
	every   time.Duration
	turn    int // number of the current tick; older ones are ignored
	blurred bool
	digest  string // of the last answer, to notice changes
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

// wake makes polling frequent again.
func (p *poll) wake() { p.every = pollOften }

func (p *poll) slower() { p.every = min(p.every*3/2, pollSeldom) }

// adapt makes polling slower while the answers stay the same, and frequent again when they change.
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

// pollNow asks the box now, and starts the next tick.
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

// focused records that the terminal has the focus. It is called when the terminal reports the focus, and at each key,
// paste and mouse event, since terminals do not always report the focus. It reads the host's files, so that the key
// acts on the current state.
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

// ask asks the box for its status, unless there is no box, the terminal has no focus, an answer is still to come, or an
// operation of this dashboard is under way: the events of the operation report the state.
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

// learn updates the dashboard from the host's files.
func (m *model) learn(k Known) tea.Cmd {
	hadBox, created := m.hasBox(), k.Exists && !m.known.Exists
	contradicted := m.state.learn(k, m.now())
	if u := m.underway(); m.watching() && (u == nil || !u.Running || u.PID != m.op.pid || !u.Started.Equal(m.op.begun)) {
		m.op.stop() // the watch still reads its last events
	}
	if !k.Exists {
		m.poll.slower() // there is no box to answer, and files seldom change
	}
	switch {
	case created || contradicted && k.Exists:
		m.poll.wake()
		return m.ask()
	case !m.hasBox() && m.own == nil && (hadBox || !m.first.checks.begun()):
		return m.firstChecks()
	}
	return nil
}
