package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"hermes-box/limactl"
	"hermes-box/ops/store"
)

// Underway is an operation that changes the box now, or that was cut off when its process died.
type Underway struct {
	Operation string    `json:"operation"`
	Running   bool      `json:"running"` // false: it was cut off
	PID       int       `json:"pid,omitempty"`
	Started   time.Time `json:"started"`
	Step      string    `json:"step,omitempty"`   // the last step that has begun, if it is known
	Resume    string    `json:"resume,omitempty"` // if it was cut off: the operation that finishes or undoes it
	Repair    string    `json:"repair"`           // advice or a command
}

// String returns a text for people: "create is under way since 17:03:12 (pid 812), at vm".
func (u *Underway) String() string {
	at := ""
	if u.Step != "" {
		at = ", at " + u.Step
	}
	if !u.Running {
		return u.Operation + " was cut off" + at
	}
	by := ""
	if u.PID != 0 {
		by = fmt.Sprintf(" (pid %d)", u.PID)
	}
	since := ""
	if !u.Started.IsZero() {
		since = " since " + u.Started.Local().Format(time.TimeOnly)
	}
	return u.Operation + " is under way" + since + by + at
}

// Unfinished reports whether the operation has left the box half made or half removed.
func (u *Underway) Unfinished() bool {
	o, ok := OperationNamed(u.Operation)
	return !u.Running && (!ok || o.recover != nil)
}

// underway finds the operation that changes the box now, or that was cut off; nil if there is none.
func (b *Box) underway() (*Underway, error) {
	by := b.Home.Holder(b.Name()) // read before the journal: an operation takes the lock first and releases it last
	if by != nil {
		u := &Underway{Operation: by.Command, Running: true, PID: by.PID, Started: by.Started, Repair: "wait for it to end"}
		if u.Operation == "" {
			u.Operation = "an operation"
		}
		u.Step = b.stepBegun(by)
		return u, nil
	}
	j, err := b.Home.Journal(b.Name())
	if err != nil || j == nil {
		return nil, err
	}
	u := &Underway{Operation: j.Operation, Started: j.Started, Step: j.Step}
	o, ok := OperationNamed(j.Operation)
	switch {
	case !ok:
		u.Repair = "use the newer version of this program, which began it"
	case o.ended != nil && o.ended(b):
		return nil, nil // the next operation removes its journal
	default:
		u.Resume, u.Repair = o.resume, o.repair
		if o.repairOf != nil {
			u.Repair = o.repairOf(b)
		}
	}
	return u, nil
}

// during returns the state to show instead of degraded while u changes the box; empty if u is nil or was cut off.
func (u *Underway) during() limactl.State {
	if u == nil || !u.Running {
		return ""
	}
	if u.Step == stepQuiesce || u.Step == stepStop {
		return stopping // a restart stops the box before it starts it
	}
	o, _ := OperationNamed(u.Operation)
	return o.during
}

// stepBegun returns the last step that an operation under way has begun, from its log; empty if there is none.
func (b *Box) stepBegun(by *store.Holder) (step string) {
	log, _ := os.ReadFile(b.newestOperation())
	for line := range bytes.Lines(log) {
		var e Event
		if json.Unmarshal(line, &e) == nil && e.Kind == Started && e.Operation == by.Command && !e.Time.Before(by.Started) {
			step = e.Step
		}
	}
	return step
}

// showUnderway sets Underway and Busy of a status.
func (b *Box) showUnderway(st *Status) error {
	u, err := b.underway()
	switch st.Underway = u; {
	case u == nil:
	case u.Running:
		st.Busy = u.Operation + " is under way"
	default:
		st.Busy = u.Operation + " was cut off"
	}
	return err
}
