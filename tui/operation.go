package tui

import (
	"fmt"
	"slices"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
	"hermes-box/tui/widget"
)

// stepState is how far a step of a plan is.
type stepState int

const (
	stepPending stepState = iota
	stepRunning
	stepDone
	stepFailed
	stepStuck // it could not be undone
	stepCanceled
	stepUndoing
	stepUndone
)

// step is a row of the plan.
type step struct {
	ops.StepInfo
	state       stepState
	begun       time.Time
	took        time.Duration
	done, total int64
	rate        float64 // bytes a second, smoothed
	told        time.Time
	phases      ops.Phases
	detail      string // what it is at, where it has failed, or why it could not be undone
}

// phases are the columns of the grid: steps of the plan fill the first two, the guest's events the others.
var phases = []string{ops.PhaseVerify, protocol.PhaseUpload, protocol.PhaseStage, protocol.PhaseSmoke, protocol.PhaseActivate, protocol.PhaseHealth}

// operation is one run of a verb, as its events have told so far.
type operation struct {
	verb     verb
	box      string
	begun    time.Time
	took     time.Duration // once it has ended
	ended    bool
	err      error
	output   string // of the command that failed
	steps    []step
	grid     map[string]map[string]string // component, phase: a state of the protocol
	log      []string
	warnings []string
	canceled bool // the person asked for it
	stuck    bool // something could not be undone
	watched  bool // another process does it
	left     bool // the person left meanwhile, which canceled it
	showLog  bool
	pulse    int          // the one that counts
	back     int          // lines that the log is scrolled back from its end
	grace    widget.Grace // of the outcome

	cancel func()
	feed   *feed[ops.Event]
	done   chan struct{} // closed as it has ended
	// outcomeErr may be read once done is closed; err is what Update has been told.
	outcomeErr error
}

// logLines is how many lines of a log are kept, and warningsKept how many warnings beside them.
const logLines, warningsKept = 10_000, 50

// apply draws one event into the operation.
func (o *operation) apply(e ops.Event) {
	s := o.step(e.Step)
	switch e.Kind {
	case ops.Planned:
		o.steps = nil
		for _, info := range e.Steps {
			o.steps = append(o.steps, step{StepInfo: info})
		}
		if o.installs() {
			o.grid = newGrid()
		}
	case ops.Started:
		s.state, s.begun = stepRunning, e.Time
		o.fill(s, protocol.Started)
		o.note(e.Time, e.Title)
	case ops.Bytes:
		s.moved(e)
	case ops.Phase:
		o.phase(s, e)
	case ops.Log:
		o.note(e.Time, e.Line)
	case ops.Warning:
		o.warnings = append(o.warnings[max(0, len(o.warnings)-warningsKept+1):], widget.Clean(e.Line))
		o.note(e.Time, "warning: "+e.Line)
	case ops.Done:
		s.state, s.took, s.detail = stepDone, seconds(e), ""
		o.fill(s, protocol.Done)
		o.note(e.Time, e.Title+": done in "+widget.Elapsed(s.took))
	case ops.Failed:
		s.state, s.took = stepFailed, seconds(e)
		if o.canceled {
			s.state = stepCanceled
		}
		o.fill(s, protocol.Failed)
		o.note(e.Time, e.Title+": "+e.Error)
	case ops.Undoing:
		s.state = stepUndoing
		o.note(e.Time, "undo: "+e.Title)
	case ops.Kept:
		s.state, s.detail = stepDone, widget.Clean(e.Line)
		o.warnings = append(o.warnings, widget.Clean(e.Line))
		o.note(e.Time, "not undone: "+e.Title+": "+e.Line)
	case ops.Undone:
		s.state = stepUndone
		if e.Error != "" {
			s.state, s.detail, o.stuck = stepStuck, widget.Clean("could not be undone: "+e.Error), true
		}
		o.note(e.Time, "undone: "+e.Title+" "+e.Error)
	}
}

func seconds(e ops.Event) time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }

// step is the row of that name; one that no plan has announced is drawn nowhere.
func (o *operation) step(id string) *step {
	for i := range o.steps {
		if o.steps[i].ID == id {
			return &o.steps[i]
		}
	}
	return &step{}
}

// moved smooths the rate over some seconds.
func (s *step) moved(e ops.Event) {
	if dt := e.Time.Sub(s.told).Seconds(); !s.told.IsZero() && dt > 0 && e.Done > s.done {
		now := float64(e.Done-s.done) / dt
		if s.rate == 0 {
			s.rate = now
		} else {
			weight := min(1, dt/3)
			s.rate += (now - s.rate) * weight
		}
	}
	s.done, s.total, s.told = e.Done, e.Total, e.Time
}

// left is how long the rest takes at this rate; 0 if that cannot be told.
func (s *step) left() time.Duration {
	if s.rate <= 0 || s.total <= s.done {
		return 0
	}
	return time.Duration(float64(s.total-s.done) / s.rate * float64(time.Second))
}

// timeLeft is left in words; empty if it cannot be told.
func (s *step) timeLeft() string {
	switch left := s.left(); {
	case left <= 0:
		return ""
	case left < 10*time.Second:
		return fmt.Sprintf("%.0fs left", max(1, left.Seconds()))
	default:
		return widget.Elapsed(left) + " left"
	}
}

// phase notes where a component is, or what the guest does as a whole.
func (o *operation) phase(s *step, e ops.Event) {
	s.phases.Follow(e)
	s.detail = widget.Clean(s.phases.String())
	if e.Component == "" {
		return
	}
	if o.grid == nil {
		o.grid = newGrid()
	}
	if o.grid[e.Component] == nil {
		o.grid[e.Component] = map[string]string{}
	}
	o.grid[e.Component][e.Phase] = e.State
	o.note(e.Time, e.Component+" "+e.Phase+": "+SignOf(e.State).Word)
}

// newGrid is an empty row for each component.
func newGrid() map[string]map[string]string {
	grid := map[string]map[string]string{}
	for _, name := range lock.Order {
		grid[name] = map[string]string{}
	}
	return grid
}

// installs tells whether the plan installs components.
func (o *operation) installs() bool {
	return slices.ContainsFunc(o.steps, func(s step) bool { return s.Software })
}

// fill sets the column of a step's phase, if it has one, for all components of the grid.
func (o *operation) fill(s *step, state string) {
	if s.Phase == "" {
		return
	}
	for _, row := range o.grid {
		row[s.Phase] = state
	}
}

func (o *operation) note(at time.Time, line string) {
	if len(o.log) >= logLines {
		o.log = slices.Delete(o.log, 0, logLines/10)
	}
	o.log = append(o.log, at.Local().Format("15:04:05")+"  "+widget.Clean(line))
}

// finish is the end of it, with its outcome. Nothing is at work any more then.
func (o *operation) finish(err error, now time.Time) {
	o.ended, o.err, o.took, o.grace = true, err, now.Sub(o.begun), widget.NewGrace(now)
	for _, row := range o.grid {
		for phase, state := range row {
			if state == protocol.Started {
				row[phase] = protocol.Undone
			}
		}
	}
	if out, ok := fault.DetailsOf(err)["output"].(string); ok {
		o.output = widget.Clean(out)
	}
}

// wasCanceled is whether it has ended as the person has asked, with nothing left behind: that is no failure.
func (o *operation) wasCanceled() bool {
	return o.ended && o.canceled && !o.stuck && fault.CodeOf(o.err) == fault.Interrupted
}

// ending is how it has ended, in a word.
func (o *operation) ending() string {
	switch {
	case o.err == nil:
		return "done"
	case o.wasCanceled():
		return "canceled"
	}
	return "failed"
}

// columns are the phases that there is something to be said of: all where software is installed, else what was looked
// at.
func (o *operation) columns() []string {
	if o.installs() {
		return phases
	}
	return slices.DeleteFunc(slices.Clone(phases), func(phase string) bool {
		for _, row := range o.grid {
			if row[phase] != "" {
				return false
			}
		}
		return true
	})
}

// at is how many steps have ended well, of how many.
func (o *operation) at() (done, all int) {
	for _, s := range o.steps {
		if s.state == stepDone {
			done++
		}
	}
	return done, len(o.steps)
}

// mergeEvents keeps of the byte counts of a step that nobody has seen yet only the newest.
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
