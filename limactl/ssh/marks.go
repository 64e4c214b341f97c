package ssh

import (
	"bytes"
	"io"
	"strconv"
	"sync"
)

// markWriter removes the marks of the script from a stream: "MARK+" at the beginning of the command's output, "MARK."
// as a sign of life and "MARK=n;" at the end with status n. Output before the first mark is from ssh or a login
// script: it is kept for an error and not written to w. A mark may be split between two writes.
type markWriter struct {
	mark  string
	w     io.Writer // may be nil
	begun func()    // called at the first mark; may be nil

	mu     sync.Mutex
	on     bool   // after the first mark
	held   []byte // may be the beginning of a mark
	before []byte
	end    int // status plus 1; 0: not ended
	err    error
}

// maxBefore is the number of bytes to keep of the output before the command.
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

// maxStatus is more than the length of "=255;".
const maxStatus = 16

// take reads the rest of a mark and returns its length; -1 if it is not complete yet.
func (m *markWriter) take(rest []byte) int {
	if len(rest) == 0 {
		return -1
	}
	if rest[0] != '=' {
		return 1
	}
	semi := bytes.IndexByte(rest, ';')
	if semi < 0 {
		if len(rest) > maxStatus { // not a status: a program in the box has printed the mark
			return 1
		}
		return -1
	}
	if status, err := strconv.Atoi(string(rest[1:semi])); err == nil {
		m.end = status + 1
	}
	return semi + 1
}

// pass writes the command's output to w, and keeps output before the first mark.
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

// overlap returns how many bytes at the end of data may be the beginning of mark.
func overlap(data []byte, mark string) int {
	for n := min(len(data), len(mark)-1); n > 0; n-- {
		if string(data[len(data)-n:]) == mark[:n] {
			return n
		}
	}
	return 0
}

// flush writes the data that was held back. Call it at the end of the stream.
func (m *markWriter) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pass(m.held)
	m.held = nil
}

// status returns the status of the command, if there was one.
func (m *markWriter) status() (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.end - 1, m.end > 0
}

// started reports whether the first mark was read.
func (m *markWriter) started() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on
}

// early returns the output before the first mark.
func (m *markWriter) early() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.before)
}

// failed returns the first error of w.
func (m *markWriter) failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}
