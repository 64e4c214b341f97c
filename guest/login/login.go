// Package login is for signing in: it finds out which sign-ins are done, links Hermes to Executor, and restarts Hermes
// after its setup has changed.
package login

import (
	"context"

	"hermes-box/guest/component"
	"hermes-box/guest/durable"
	"hermes-box/guest/protocol"
)

// Login has the actions of signing in. Its fields are what they need.
type Login struct {
	durable.Tree
	Machine Machine
	Emit    func(protocol.Event)
	Applied func() (map[string]protocol.AppliedComponent, error) // returns the applied components by name
}

// Machine is the set of actions that this package needs. Package machine describes the methods.
type Machine interface {
	component.Machine
	RestartUnit(ctx context.Context, unit string) error
}

var hermesHome = component.Hermes{}.StateDirs()[0]

func (l Login) components() component.Env {
	return component.Env{Tree: l.Tree, Machine: l.Machine, Emit: l.Emit}
}
