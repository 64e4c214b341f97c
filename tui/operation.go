package tui

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// operation is the state of one run of an operation, built from its events, and its view.
type operation struct {
	verb     verb
	box      string
	begun    time.Time
	took     time.Duration // once it has ended
	ended    bool
	err      error
	result   any    // of ops; valid once it has ended without an error
	output   string // of the command that failed
	steps    []step
	grid     grid
	log      []string
	warnings []string
	canceled bool // the user has canceled it
	stuck    bool // something could not be undone
	left     bool // the user quit while it ran, which canceled it

	about int64 // an estimate of the bytes to move in a step that does not say how many; 0 if there is none

	watched bool // another process runs it
	pid     int  // of the process that runs it

	showLog bool
	back    int          // lines that the log is scrolled back from its end
	pulse   int          // number of the current pulse; older ones are ignored
	grace   widget.Grace // of the outcome

	stop func() // cancels the operation, or stops watching that of another process
	feed *feed[ops.Event]
	done chan struct{} // closed when it has ended
	// outcomeErr is the outcome. It may be read once done is closed, outside of Update; in Update use err.
	outcomeErr error
}

// logLines is the number of log lines that are kept, and warningsKept is the number of warnings.
const logLines, warningsKept = 10_000, 50

// pulseEvery is the interval at which the clock of an operation is drawn.
const pulseEvery = 500 * time.Millisecond

type pulseMsg struct{ turn int }

// apply updates the state from one event.
func (o *operation) apply(e ops.Event) {
	s := o.step(e.Step)
	switch e.Kind {
	case ops.Planned:
		o.plan(e.Steps)
	case ops.Started:
		s.state, s.begun = stepRunning, e.Time
		o.fill(s, protocol.Started)
		o.note(e.Time, e.Title)
	case ops.Bytes:
		s.about = e.Total <= 0 && o.about > 0
		if s.about {
			e.Total = o.about
		}
		s.bytes(e)
	case ops.Phase:
		o.phase(s, e)
	case ops.Log:
		o.note(e.Time, e.Line)
	case ops.Warning:
		o.warn(e.Time, e.Line)
	case ops.Done:
		s.state, s.took, s.detail = stepDone, seconds(e), ""
		o.fill(s, protocol.Done)
		o.note(e.Time, e.Title+": done in "+widget.Elapsed(s.took))
	case ops.Failed:
		o.stepFailed(s, e)
	case ops.Undoing:
		s.state = stepUndoing
		o.note(e.Time, "undo: "+e.Title)
	case ops.Undone:
		s.state = stepUndone
		if e.Error != "" {
			s.state, s.detail, o.stuck = stepStuck, widget.Clean("could not be undone: "+e.Error), true
		}
		o.note(e.Time, "undone: "+e.Title+" "+e.Error)
	case ops.Kept:
		if s.state == stepDone { // otherwise its row shows how it failed
			s.state, s.detail = stepKept, widget.Clean(e.Line)
		}
		o.warn(e.Time, "not undone: "+e.Line)
	}
}

func seconds(e ops.Event) time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }

func (o *operation) plan(steps []ops.StepInfo) {
	o.steps = nil
	for _, info := range steps {
		o.steps = append(o.steps, step{StepInfo: info})
	}
	if o.installs() {
		o.grid = newGrid()
	}
}

// stepFailed records the failure of a step. A step that was stopped, by the user or because another step failed, counts
// as canceled.
func (o *operation) stepFailed(s *step, e ops.Event) {
	s.took = seconds(e)
	if o.canceled || strings.Contains(e.Error, context.Canceled.Error()) {
		s.state = stepCanceled
		o.fill(s, protocol.Undone)
	} else {
		s.state = stepFailed
		o.fill(s, protocol.Failed)
	}
	o.note(e.Time, e.Title+": "+e.Error)
}

// step returns the row with that ID, or one that is not drawn if the plan has no such step.
func (o *operation) step(id string) *step {
	for i := range o.steps {
		if o.steps[i].ID == id {
			return &o.steps[i]
		}
	}
	return &step{}
}

// phase records the phase of a component, or of the guest as a whole.
func (o *operation) phase(s *step, e ops.Event) {
	s.phases.Follow(e)
	s.detail = widget.Clean(s.phases.String())
	if e.Component == "" {
		return
	}
	if o.grid == nil {
		o.grid = newGrid()
	}
	o.grid.set(e.Component, e.Phase, e.State)
	o.note(e.Time, e.Component+" "+e.Phase+": "+SignOf(e.State).Word)
}

// fill sets the column of the grid that belongs to a step of the plan.
func (o *operation) fill(s *step, state string) {
	if s.Phase != "" {
		o.grid.fill(s.Phase, state)
	}
}

func (o *operation) note(at time.Time, line string) {
	if len(o.log) >= logLines {
		o.log = slices.Delete(o.log, 0, logLines/10)
	}
	o.log = append(o.log, at.Local().Format("15:04:05")+"  "+widget.Clean(line))
}

func (o *operation) warn(at time.Time, line string) {
	o.warnings = append(o.warnings[max(0, len(o.warnings)-warningsKept+1):], widget.Clean(line))
	o.note(at, "warning: "+line)
}

// finish records the outcome.
func (o *operation) finish(err error, now time.Time) {
	o.ended, o.err, o.took, o.grace = true, err, now.Sub(o.begun), widget.NewGrace(now)
	o.grid.end()
	if out, ok := fault.DetailsOf(err)["output"].(string); ok {
		o.output = widget.Clean(out)
	}
}

// wasCanceled reports whether the user canceled the operation and all of it was undone. That is not a failure.
func (o *operation) wasCanceled() bool {
	return o.ended && o.canceled && !o.stuck && fault.CodeOf(o.err) == fault.Interrupted
}

// refused reports whether the operation failed because of what was typed: before it had done anything, or because a path
// cannot be written.
func (o *operation) refused() bool {
	done, _ := o.progress()
	return o.verb.form != nil && o.ending() == "failed" && (done == 0 || errors.Is(o.err, fs.ErrPermission))
}

// ending returns a word for how the operation ended.
func (o *operation) ending() string {
	switch {
	case o.err == nil:
		return "done"
	case o.wasCanceled():
		return "canceled"
	}
	return "failed"
}

// installs reports whether the plan installs software.
func (o *operation) installs() bool {
	return slices.ContainsFunc(o.steps, func(s step) bool { return s.Software })
}

// columns returns the phases to show: all if the plan installs software, otherwise those with events.
func (o *operation) columns() []string {
	if o.installs() {
		return phases
	}
	return o.grid.used()
}

// progress returns the number of steps that are done, and the number of all steps.
func (o *operation) progress() (done, all int) {
	for _, s := range o.steps {
		if s.state == stepDone {
			done++
		}
	}
	return done, len(o.steps)
}

// health returns the state of a component from the events of its health phase; empty if there are none.
func (o *operation) health(component string) string {
	switch state := o.grid[component][protocol.PhaseHealth]; state {
	case protocol.Started:
		return protocol.Starting
	case protocol.Done:
		return protocol.Healthy
	case protocol.Failed:
		return protocol.FailedState
	default:
		return state
	}
}

// ignores reports whether a key is ignored, because it was typed before the user could read the outcome.
func (o *operation) ignores(now time.Time) bool {
	return o != nil && o.ended && o.grace.Ignores(now)
}

// startPulse draws the clock until the operation has ended.
func (o *operation) startPulse(w *worker) tea.Cmd {
	o.pulse++ // an older pulse that is still to come is ignored
	return w.after(pulseEvery, pulseMsg{o.pulse})
}

func (o *operation) pulsed(w *worker, msg pulseMsg) tea.Cmd {
	if o == nil || o.ended || msg.turn != o.pulse {
		return nil
	}
	return o.startPulse(w)
}

// listen waits for the next events.
func (o *operation) listen() tea.Cmd {
	f := o.feed
	return func() tea.Msg { return f.next(context.Background()) }
}

// mergeEvents appends an event to the queue. Of successive byte counts of a step it keeps only the newest.
func mergeEvents(queued []ops.Event, next ops.Event) []ops.Event {
	if next.Kind == ops.Bytes {
		for i := len(queued) - 1; i >= 0; i-- {
			if queued[i].Step != next.Step {
				continue
			}
			if queued[i].Kind == ops.Bytes {
				queued[i] = next
				return queued
			}
			break
		}
	}
	return append(queued, next)
}
