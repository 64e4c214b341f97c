package ops

import (
	"slices"
	"sync"
	"time"

	"hermes-box/ops/store"
)

// journal is the durable record of an operation under way: its name, the step it is at, and what it has made.
type journal struct {
	home store.Home
	box  string

	mu      sync.Mutex
	begun   bool
	content store.Journal
}

func newJournal(home store.Home, box, operation string) *journal {
	return &journal{home: home, box: box, content: store.Journal{Operation: operation, Started: time.Now().UTC()}}
}

// begin writes the journal for the first time, with what the operation is going to make or remove.
func (j *journal) begin(made ...string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begun, j.content.Made = true, append(j.content.Made, made...)
	return j.save()
}

// setStep records the step that has begun. It ignores errors, since the step only shows where the operation was cut
// off.
func (j *journal) setStep(step string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.content.Step = step
	if j.begun {
		_ = j.save()
	}
}

// making records what is about to be made, so that recovery can remove it after a crash at any moment.
func (j *journal) making(what string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.content.Made = append(j.content.Made, what)
	return j.save()
}

// notMade removes a thing from the journal, because it belongs to another program.
func (j *journal) notMade(what string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.content.Made = slices.DeleteFunc(j.content.Made, func(made string) bool { return made == what })
	return j.save()
}

// made reports whether the operation has recorded a thing as made.
func (j *journal) made(what string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.content.Made, what)
}

// all returns everything that the operation has recorded as made.
func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.content.Made)
}

// remove removes the journal at the end of the operation. After that nothing counts as made, so no undo removes
// anything. If the journal was never begun, remove does nothing.
func (j *journal) remove() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.begun {
		return nil
	}
	j.begun = false
	err := j.home.RemoveJournal(j.box)
	if err == nil {
		j.content.Made = nil
	}
	return err
}

func (j *journal) save() error { return j.home.SaveJournal(j.box, &j.content) }
