package ops

import (
	"context"
	"slices"

	"hermes-box/limactl"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Operation describes one operation that changes a box. The verbs of the command line and of the dashboard, recovery, and the
// texts about an operation under way are made from it. Operations lists all of them.
type Operation struct {
	Name        string   // of its verb, in locks, journals and log files
	Effect      string   // one line: what it will do
	Long        string   // help: Effect and what there is to know beside it; empty: Effect alone
	Words       string   // other words that people look for it by
	Needs       Need     // state of the box in which it is offered
	Destructive bool     // a person has to type the name of the box
	Ask         string   // what a person is told before they agree to it; empty: nobody is asked
	Cancel      string   // what a cancel does to what it has done so far
	Done        string   // what to say when it went well, after the name of the box
	Next        []Advice // what to do then
	Force       *Force   // nil: it takes no --force

	// during is the state to show, instead of degraded, of a box while the operation changes it.
	during limactl.State
	// resume is the operation that finishes or undoes this one after it was cut off, and repair what to type for that.
	resume, repair string
	// recover finishes or undoes the operation after it was cut off, before another one begins. Where it is nil, nothing
	// has to be undone: the journal only says where it was cut off.
	recover func(b *Box, ctx context.Context, j *store.Journal, next Operation, sink Sink) error
	// ended tells of a journal that was left although the operation came to its end.
	ended func(b *Box) bool
	// run does it; nil for what needs more than a box and --force.
	run func(ctx context.Context, b *Box, force bool, sink Sink) (any, error)
}

// Need is the state of the box that an operation is for.
type Need int

// The needs.
const (
	NeedsNoBox   Need = iota // there is none yet
	NeedsBox                 // in whatever state
	NeedsStopped             // or degraded
	NeedsRunning             // or degraded, or starting
)

// Force holds the texts of an operation that is forced.
type Force struct {
	Help string // of the flag --force
	// Effect, Words, Ask and Cancel replace those of the operation, where the dashboard offers both.
	Effect, Words, Ask, Cancel string
}

// Advice is something to do next: what for, and the verb.
type Advice struct{ To, Verb string }

// Operations are all operations, in the order in which they are listed for people.
func Operations() []Operation { return table() }

// OperationNamed finds an operation; false where this version of the program knows none of that name.
func OperationNamed(name string) (Operation, bool) {
	all := table()
	i := slices.IndexFunc(all, func(o Operation) bool { return o.Name == name })
	if i < 0 {
		return Operation{}, false
	}
	return all[i], true
}

// Runnable tells whether Do can run the operation.
func (o Operation) Runnable() bool { return o.run != nil }

// Do runs the operation of that name: create, start, stop, restart or destroy. Its result is a *Created, a *Run or a
// *Destroyed.
func (b *Box) Do(ctx context.Context, name string, force bool, sink Sink) (any, error) {
	o, ok := OperationNamed(name)
	if !ok || o.run == nil {
		return nil, fault.New(fault.InvalidInput, "there is no operation %q", name).Hint("hermes-box --help")
	}
	return o.run(ctx, b, force, sink)
}

// unknownOperation is the error for the journal of an operation of a newer version, which this one cannot finish.
func unknownOperation(box, operation string) error {
	return fault.New(fault.PreflightFailed, "%q of box %q was cut off, and this version of hermes-box does not know that operation", operation, box).
		Hint("use the newer version of this program, which began it").Detail("operation", operation)
}
