package ssh

import (
	"bytes"
	"io"
	"strconv"
	"sync"
)

// markWriter takes the marks of a session out of a stream. They are "MARK+" where the command's output begins,
// "MARK." for a sign of life and "MARK=n;" for its end with status n. What comes before the first is of ssh or of a
// login script: it is kept, for an error, and not handed on. A mark may be cut anywhere between two writes.
type markWriter struct {
	mark  string
	w     io.Writer // may be nil
	begun func()    // called at the first mark; may be nil

	mu     sync.Mutex
	on     bool   // the first mark has come
	held   []byte // may be the beginning of a mark
	before []byte
	end    int // status plus 1; 0: not ended
	err    error
}

// maxBefore bounds what is kept of what comes before the command.
const maxBefore = 16 << 10

func (m *markWriter) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data := p
	if len(m.held) > 0 {
		data = append(m.held, p...)
	}
	for {
		at := bytes.Index(data, []byte(m.mark))
		if at < 0 {
			break
		}
		size := m.take(data[at+len(m.mark):])
		if size < 0 {
			m.pass(data[:at])
			m.held = bytes.Clone(data[at:])
			return len(p), m.err
		}
		m.pass(data[:at])
		if !m.on {
			m.on = true
			if m.begun != nil {
				m.begun()
			}
		}
		data = data[at+len(m.mark)+size:]
	}
	keep := overlap(data, m.mark)
	m.pass(data[:len(data)-keep])
	m.held = bytes.Clone(data[len(data)-keep:])
	return len(p), m.err
}

// maxStatus is more than "=255;" has, bytes.
const maxStatus = 16

// take reads what follows a mark and returns its length; -1 if it is not all there yet.
func (m *markWriter) take(rest []byte) int {
	if len(rest) == 0 {
		return -1
	}
	if rest[0] != '=' {
		return 1
	}
	semi := bytes.IndexByte(rest, ';')
	if semi < 0 {
		if len(rest) > maxStatus { // no status: somebody in the box plays with the mark
			return 1
		}
		return -1
	}
	if status, err := strconv.Atoi(string(rest[1:semi])); err == nil {
		m.end = status + 1
	}
	return semi + 1
}

// pass hands on what is the command's.
func (m *markWriter) pass(p []byte) {
	switch {
	case len(p) == 0:
	case !m.on:
		if room := maxBefore - len(m.before); room > 0 {
			m.before = append(m.before, p[:min(len(p), room)]...)
		}
	case m.w != nil && m.err == nil:
		_, m.err = m.w.Write(p)
	}
}

// overlap is how much of the end of data may be the beginning of mark.
func overlap(data []byte, mark string) int {
	for n := min(len(data), len(mark)-1); n > 0; n-- {
		if string(data[len(data)-n:]) == mark[:n] {
			return n
		}
	}
	return 0
}

// flush hands on what was held back, when no more can come.
func (m *markWriter) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pass(m.held)
	m.held = nil
}

// status is the command's, if it was reported.
func (m *markWriter) status() (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.end - 1, m.end > 0
}

// started tells whether the remote side has said that it is there.
func (m *markWriter) started() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on
}

// early is what came before the command.
func (m *markWriter) early() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.before)
}

// failed is the first error of the writer behind.
func (m *markWriter) failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}
