package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"hermes-box/ops/store"
)

// Underway is an operation that changes the box at this moment, or that was cut off and waits for its end.
type Underway struct {
	Operation string    `json:"operation"`
	Running   bool      `json:"running"` // false: its process has died
	PID       int       `json:"pid,omitempty"`
	Started   time.Time `json:"started"`
	Step      string    `json:"step,omitempty"` // the last one that has begun, as far as it is known
	Repair    string    `json:"repair"`         // what to do, or to type
}

// String says it in a few words: "create is under way since 17:03:12 (pid 812), at vm".
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
	return fmt.Sprintf("%s is under way since %s%s%s", u.Operation, u.Started.Local().Format(time.TimeOnly), by, at)
}

// underway looks whether the box is being changed, or a change of it was cut off; nil if neither.
func (b *Box) underway() (*Underway, error) {
	by := b.Home.Holder(b.Name()) // before the journal: an operation takes the lock first, and gives it back last
	j, err := b.Home.Journal(b.Name())
	switch {
	case by != nil:
		u := &Underway{Operation: by.Command, Running: true, PID: by.PID, Started: by.Started, Repair: "wait for it to end"}
		if u.Operation == "" {
			u.Operation = "an operation"
		}
		u.Step = b.stepBegun(by)
		return u, nil
	case err != nil || j == nil:
		return nil, err
	}
	if b.Record == nil && j.Operation != "create" || b.Record != nil && b.Record.Ready && j.Operation == "create" {
		return nil, nil // only its end was missing: the next operation strikes it
	}
	u := &Underway{Operation: j.Operation, Started: j.Started, Step: j.Step, Repair: "hermes-box " + j.Operation}
	switch u.Operation {
	case "create":
		u.Repair = "hermes-box create makes it anew; hermes-box destroy --force removes what is left of it"
	case "destroy":
		u.Repair = "hermes-box destroy --force ends it"
	}
	return u, nil
}

// stepBegun is the step that an operation under way has begun last, by its log; empty if it has none.
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

// busy puts into a status what is under way.
func (b *Box) busy(st *Status) error {
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
