// Package guest is the transaction engine inside the VM: it installs the releases of a lock, proves them, makes them
// current and rolls back, and reports what runs. It knows nothing of the host but package protocol. What it is built from
// is in the packages below it.
package guest

import (
	"context"
	"time"

	"hermes-box/guest/bootstrap"
	"hermes-box/guest/component"
	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/login"
	"hermes-box/guest/object"
	"hermes-box/guest/protocol"
)

// Guest is one machine: its files, and what can be done on it.
type Guest struct {
	durable.Tree                      // Root is "/", or a directory that stands for it
	Machine      Machine              // everything that is not a file
	Emit         func(protocol.Event) // may be nil; called from several goroutines
	Now          func() time.Time     // nil: time.Now
	Helper       string               // file of this helper; empty: the running executable
}

// Machine is what the engine and its parts do on the machine. Package machine implements it for Linux; tests and the
// rehearsal machine have one that is a directory. Paths are real paths, as Guest.Path returns them.
type Machine interface {
	component.Machine
	bootstrap.Machine
	login.Machine
	StopUnit(ctx context.Context, unit string) error
	KernelLog() string
}

// Objects are the objects that the host has sent.
func (g *Guest) Objects() object.Store { return object.Store{Tree: g.Tree} }

// Bootstrap makes a fresh root disk into a box. See bootstrap.Run.
func (g *Guest) Bootstrap(ctx context.Context, ask protocol.Bootstrap) (protocol.Bootstrapped, error) {
	return bootstrap.Run(ctx, bootstrap.Env{Tree: g.Tree, Machine: g.Machine, Emit: g.emit, Now: g.now}, ask)
}

// CheckData fails unless the data disk of this box is mounted in all its places.
func (g *Guest) CheckData(ctx context.Context) error {
	return bootstrap.CheckData(ctx, g.Tree, g.Machine)
}

// Login is what a person signs in to.
func (g *Guest) Login() login.Login {
	return login.Login{Tree: g.Tree, Machine: g.Machine, Emit: g.emit, Applied: g.AppliedState}
}

func (g *Guest) components() component.Env {
	return component.Env{Tree: g.Tree, Machine: g.Machine, Emit: g.emit}
}

// exclusive keeps all other helpers from changing the box.
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
