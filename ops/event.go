// Package ops implements the operations on a box, one file each, and the parts that they share. An operation is a plan
// of named steps that emits events. This package does not print, prompt or draw.
package ops

import (
	"sync"
	"sync/atomic"
	"time"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Planned  Kind = "plan"     // Steps holds the whole plan
	Started  Kind = "started"  // of a step
	Bytes    Kind = "bytes"    // Done of Total bytes moved in a step
	Phase    Kind = "phase"    // a component inside the guest, or the guest as a whole, has reached Phase, with State
	Log      Kind = "log"      // Line, for the log
	Warning  Kind = "warning"  // Line, for the user
	Done     Kind = "done"     // of a step
	Failed   Kind = "failed"   // of a step; Error
	Undoing  Kind = "undoing"  // of a step
	Undone   Kind = "undone"   // of a step; Error if undoing it failed
	Kept     Kind = "kept"     // of a step: it is not undone; Line says what stays
	Finished Kind = "finished" // of the plan; Error if it failed
)

// Event is one line of the stream from which text, JSON and the dashboard are made.
type Event struct {
	Time      time.Time  `json:"time"`
	Kind      Kind       `json:"event"`
	Operation string     `json:"operation"`
	Box       string     `json:"box"`
	Step      string     `json:"step,omitempty"`
	Title     string     `json:"title,omitempty"`
	Steps     []StepInfo `json:"steps,omitempty"`
	Done      int64      `json:"done,omitempty"`
	Total     int64      `json:"total,omitempty"`
	Component string     `json:"component,omitempty"`
	Phase     string     `json:"phase,omitempty"`
	State     string     `json:"state,omitempty"`
	Line      string     `json:"line,omitempty"`
	Error     string     `json:"error,omitempty"`
	// Interrupted says that a failed step was ended by the user, or since another step had failed.
	Interrupted bool    `json:"interrupted,omitempty"`
	Seconds     float64 `json:"seconds,omitempty"` // how long the step or the plan took, when it ends
}

// StepInfo is a step as the plan announces it.
type StepInfo struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Phase, if set, is a phase that this step does for all components at once: PhaseVerify or one of the protocol's.
	Phase string `json:"phase,omitempty"`
	// Software says that this step installs components; the guest then reports their phases.
	Software bool `json:"software,omitempty"`
}

// PhaseVerify is the phase in which the host fetches and verifies the artifacts of all components. The phases after
// it are those of package protocol.
const PhaseVerify = "verify"

// Sink receives events. Calls do not overlap. A Sink must not block for long.
type Sink func(Event)

// Progress reports what a step does. It may be used from several goroutines.
type Progress struct {
	stream *stream
	step   Step
	last   atomic.Int64 // when bytes were last reported, in Unix nanoseconds
}

// bytesEvery is the shortest time between two reports of bytes. A report that all bytes were moved is always made.
const bytesEvery = 100 * time.Millisecond

// Bytes reports the number of bytes moved so far, and their total. It may be called often.
func (p *Progress) Bytes(done, total int64) {
	if p == nil {
		return
	}
	now, last := time.Now().UnixNano(), p.last.Load()
	if done != total && (now-last < int64(bytesEvery) || !p.last.CompareAndSwap(last, now)) {
		return
	}
	p.emit(Event{Kind: Bytes, Done: done, Total: total})
}

// Log adds a line to the log.
func (p *Progress) Log(line string) { p.emit(Event{Kind: Log, Line: line}) }

// Warn adds a warning for the user. The step continues.
func (p *Progress) Warn(line string) { p.emit(Event{Kind: Warning, Line: line}) }

// Phase reports the phase and state of a component; an empty component is the guest as a whole.
func (p *Progress) Phase(component, phase, state string) {
	p.emit(Event{Kind: Phase, Component: component, Phase: phase, State: state})
}

func (p *Progress) emit(e Event) {
	if p == nil || p.stream == nil {
		return
	}
	e.Step, e.Title = p.step.ID, p.step.Title
	p.stream.emit(e)
}

// stream stamps events and hands them to the sink one at a time.
type stream struct {
	mu        sync.Mutex
	operation string
	box       string
	sink      Sink
}

func (s *stream) emit(e Event) {
	if s.sink == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Time, e.Operation, e.Box = time.Now().UTC(), s.operation, s.box
	s.sink(e)
}
