// Package login is about what a person signs in to: whether that is done, the link from Hermes to Executor, and restarting
// Hermes after its setup has changed.
package login

import (
	"context"

	"hermes-box/guest/component"
	"hermes-box/guest/durable"
	"hermes-box/guest/protocol"
)

// Login is what this package works with.
type Login struct {
	durable.Tree
	Machine Machine
	Emit    func(protocol.Event)
	Applied func() (map[string]protocol.AppliedComponent, error) // what is installed
}

// Machine is what this package does on the machine. Package machine describes the methods.
type Machine interface {
	component.Machine
	RestartUnit(ctx context.Context, unit string) error
}

var hermesHome = component.Hermes{}.StateDirs()[0]

func (l Login) components() component.Env {
	return component.Env{Tree: l.Tree, Machine: l.Machine, Emit: l.Emit}
}
