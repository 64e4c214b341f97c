package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// operation is one run of an operation as far as its events tell, and its view.
type operation struct {
	verb     verb
	box      string
	begun    time.Time
	took     time.Duration // once it has ended
	ended    bool
	err      error
	output   string // of the command that failed
	steps    []step
	grid     grid
	log      []string
	warnings []string
	canceled bool // the person asked for it
	stuck    bool // something could not be undone
	left     bool // the person quit meanwhile, which canceled it

	watched bool // another process does it
	pid     int  // of that process

	showLog bool
	back    int          // lines that the log is scrolled back from its end
	pulse   int          // of the pulse that counts
	grace   widget.Grace // of the outcome

	stop func() // cancels it; of one that is watched, ends the watching
	feed *feed[ops.Event]
	done chan struct{} // closed when it has ended
	// outcomeErr may be read once done is closed; err is for Update.
	outcomeErr error
}

// logLines is how many lines of a log are kept, and warningsKept how many warnings beside them.
const logLines, warningsKept = 10_000, 50

// pulseEvery is how often the clock of an operation is drawn.
const pulseEvery = 500 * time.Millisecond

type pulseMsg struct{ turn int }

// apply takes in one event.
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
		if s.state == stepDone { // else its row says how it failed
			s.state, s.detail = stepKept, widget.Clean(e.Line)
		}
		o.warn(e.Time, "not undone: "+e.Line)
	}
}

func seconds(e ops.Event) time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }

// plan takes in the steps.
func (o *operation) plan(steps []ops.StepInfo) {
	o.steps = nil
	for _, info := range steps {
		o.steps = append(o.steps, step{StepInfo: info})
	}
	if o.installs() {
		o.grid = newGrid()
	}
}

// stepFailed takes in the failure of a step. One that was stopped, by the person or by the failure of another step, has
// not failed itself.
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

// step returns the row of that id. A step that no plan has announced is not drawn.
func (o *operation) step(id string) *step {
	for i := range o.steps {
		if o.steps[i].ID == id {
			return &o.steps[i]
		}
	}
	return &step{}
}

// phase takes in where a component is, or what the guest does as a whole.
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

// fill sets the column of the grid that a step of the plan stands for.
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

// finish takes in the outcome.
func (o *operation) finish(err error, now time.Time) {
	o.ended, o.err, o.took, o.grace = true, err, now.Sub(o.begun), widget.NewGrace(now)
	o.grid.end()
	if out, ok := fault.DetailsOf(err)["output"].(string); ok {
		o.output = widget.Clean(out)
	}
}

// wasCanceled tells whether it ended because the person asked for it, with nothing left behind: that is no failure.
func (o *operation) wasCanceled() bool {
	return o.ended && o.canceled && !o.stuck && fault.CodeOf(o.err) == fault.Interrupted
}

// ending is how it ended, in a word.
func (o *operation) ending() string {
	switch {
	case o.err == nil:
		return "done"
	case o.wasCanceled():
		return "canceled"
	}
	return "failed"
}

// installs tells whether the plan installs software.
func (o *operation) installs() bool {
	return slices.ContainsFunc(o.steps, func(s step) bool { return s.Software })
}

// columns returns the phases to show: all where software is installed, else those with events.
func (o *operation) columns() []string {
	if o.installs() {
		return phases
	}
	return o.grid.used()
}

// progress is how many steps have ended well, of how many.
func (o *operation) progress() (done, all int) {
	for _, s := range o.steps {
		if s.state == stepDone {
			done++
		}
	}
	return done, len(o.steps)
}

// health is the state of a component by the events of its health phase; empty if there are none.
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

// ignores tells whether a key is ignored, because it was meant for what was on the screen before the outcome.
func (o *operation) ignores(now time.Time) bool {
	return o != nil && o.ended && o.grace.Ignores(now)
}

// startPulse draws the clock until the operation has ended.
func (o *operation) startPulse(w *worker) tea.Cmd {
	o.pulse++ // an older pulse that is still to come does not count
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

// mergeEvents keeps, of the byte counts of a step that nobody has seen yet, only the newest.
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
