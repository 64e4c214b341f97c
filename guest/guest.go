// Package guest is the transaction engine inside the VM: it installs the releases of a lock, smoke-tests them, makes
// them current, rolls back, and reports the state of the services. The only packages that it shares with the host
// are protocol and those below it. The parts of the engine are in the other subdirectories.
package guest

import (
	"context"
	"time"

	"hermes-box/guest/bootstrap"
	"hermes-box/guest/component"
	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/login"
	"hermes-box/guest/machine"
	"hermes-box/guest/object"
	"hermes-box/guest/protocol"
)

// Guest is one machine: its files, and the actions on it.
type Guest struct {
	durable.Tree                      // Root is "/", or a directory in place of it
	Machine      Machine              // everything that is not a file
	Emit         func(protocol.Event) // may be nil; called from several goroutines
	Now          func() time.Time     // nil: time.Now
	Helper       string               // file of this helper; empty: the running executable
}

// Machine is the set of actions that the engine and its parts need. Package machine implements it for Linux; tests and
// the rehearsal machine use a directory. Paths, except those of devices and programs, are real paths, as Guest.Path
// returns them.
type Machine interface {
	component.Machine
	bootstrap.Machine
	login.Machine
	StopUnit(ctx context.Context, unit string) error
	MapUUID(ctx context.Context, uuid string) error
	Snapshot(ctx context.Context, path string) (*machine.Snapshot, error)
	Freeze(ctx context.Context, path string, limit time.Duration) (thaw func() error, err error)
	KernelLog() string
}

// Objects returns the objects that the host has sent.
func (g *Guest) Objects() object.Store { return object.Store{Tree: g.Tree} }

// Bootstrap makes a fresh root disk into a box. See bootstrap.Run.
func (g *Guest) Bootstrap(ctx context.Context, ask protocol.Bootstrap) (protocol.Bootstrapped, error) {
	return bootstrap.Run(ctx, bootstrap.Env{Tree: g.Tree, Machine: g.Machine, Emit: g.emit, Now: g.now}, ask)
}

// CheckData fails unless the data disk of this box is mounted at all its paths.
func (g *Guest) CheckData(ctx context.Context) error {
	return bootstrap.CheckData(ctx, g.Tree, g.Machine)
}

// Login returns the actions of signing in.
func (g *Guest) Login() login.Login {
	return login.Login{Tree: g.Tree, Machine: g.Machine, Emit: g.emit, Applied: g.AppliedState}
}

func (g *Guest) components() component.Env {
	return component.Env{Tree: g.Tree, Machine: g.Machine, Emit: g.emit}
}

// exclusive takes layout.Mutex, the lock for changes of the box.
func (g *Guest) exclusive(ctx context.Context) (unlock func(), err error) {
	return g.Lock(ctx, layout.Mutex)
}

func (g *Guest) emit(e protocol.Event) {
	if g.Emit != nil {
		g.Emit(e)
	}
}

func (g *Guest) now() time.Time {
	if g.Now != nil {
		return g.Now().UTC()
	}
	return time.Now().UTC()
}
