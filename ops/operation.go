package ops

import (
	"context"
	"slices"

	"hermes-box/limactl"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Operation describes one operation that changes a box. The verbs of the command line and of the dashboard, recovery,
// and the texts about an operation under way are made from it. Operations lists all of them.
type Operation struct {
	Name        string   // of its verb, in locks, journals and log files
	Effect      string   // one line: what it will do
	Long        string   // text for help; empty: Effect
	Words       string   // synonyms that people search for
	Needs       Need     // state of the box in which it is offered
	Destructive bool     // the user has to type the name of the box
	Ask         string   // text of the question before it runs; empty: no question
	Cancel      string   // the effect of canceling it
	Done        string   // text after success, following the name of the box
	Next        []Advice // suggestions after success
	Force       *Force   // nil: it takes no --force

	// during is the state to show instead of degraded while the operation changes the box.
	during limactl.State
	// resume is the operation that finishes or undoes this one after it was cut off, and repair is the command to show
	// for that. repairOf, if set, returns the command instead.
	resume, repair string
	repairOf       func(b *Box) string
	// recover finishes or undoes the operation after it was cut off, before another one begins. If it is nil, nothing
	// has to be undone: the journal only shows where the operation was cut off.
	recover func(b *Box, ctx context.Context, j *store.Journal, next Operation, sink Sink) error
	// ended reports whether the operation had ended, although its journal is still there.
	ended func(b *Box) bool
	// run runs the operation; nil if it needs more arguments than --force.
	run func(ctx context.Context, b *Box, force bool, sink Sink) (any, error)
}

// Need is the state of the box that an operation is for.
type Need int

// The states that an operation can need.
const (
	NeedsNoBox   Need = iota // there is none yet
	NeedsBox                 // in any state
	NeedsStopped             // or degraded
	NeedsRunning             // or degraded, or starting
)

// Force holds the texts of an operation that is forced.
type Force struct {
	Help string // of the flag --force
	// Effect, Words, Ask and Cancel replace those of the operation. If Effect is set, the dashboard offers the
	// operation with and without force.
	Effect, Words, Ask, Cancel string
}

// Advice is a suggestion: its purpose and the verb.
type Advice struct{ To, Verb string }

// Operations returns all operations, in the order in which lists show them.
func Operations() []Operation { return table() }

// OperationNamed returns the operation with that name, or false if this version has none.
func OperationNamed(name string) (Operation, bool) {
	all := table()
	i := slices.IndexFunc(all, func(o Operation) bool { return o.Name == name })
	if i < 0 {
		return Operation{}, false
	}
	return all[i], true
}

// Runnable reports whether Do can run the operation.
func (o Operation) Runnable() bool { return o.run != nil }

// Do runs the operation of that name: create, start, stop, restart, backup or destroy. Before destroy the caller must
// ask for the name of the box. The result is a *Created, a *Run, a *BackupMade or a *Destroyed.
func (b *Box) Do(ctx context.Context, name string, force bool, sink Sink) (any, error) {
	o, ok := OperationNamed(name)
	if !ok || o.run == nil {
		return nil, fault.New(fault.InvalidInput, "there is no operation %q", name).Hint("hermes-box --help")
	}
	return o.run(ctx, b, force, sink)
}

// unknownOperation returns the error for the journal of an operation of a newer version, which this one cannot finish.
func unknownOperation(box, operation string) error {
	return fault.New(fault.PreflightFailed, "%q of box %q was cut off, and this version of hermes-box does not know that operation", operation, box).
		Hint("use the newer version of this program, which began it").Detail("operation", operation)
}
