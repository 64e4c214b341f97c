package guest

import (
	"context"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// component is how one of the six is installed; each has a file of its own. The engine does all that is the
// same for each: order, journal, links, previous release, undoing.
type component interface {
	name() string
	// stage unpacks the release's objects into dir, which is empty and becomes the release by a rename.
	// Nothing below dir may name dir itself unless the component fixes it up after the rename in smoke.
	stage(ctx context.Context, g *Guest, c protocol.Component, dir string) error
	// smoke proves that the release in dir runs and has the version it claims, with a throwaway home: no
	// auth file or state of the user is read or written.
	smoke(ctx context.Context, g *Guest, c protocol.Component, dir string) error
	// commands are links to make in /usr/local/bin: name -> path inside the release. What a release does
	// not have gets no link.
	commands() map[string]string
	// unit is the service that runs it, or "".
	unit() string
	// health tells whether what is activated works: one of the protocol's component states and why. It is
	// cheap and needs no privilege, for status calls it too; unit is what systemd says of unit().
	health(ctx context.Context, g *Guest, unit machine.Unit) (state, detail string)
	// stateDirs are the directories on the data disk it may touch; made, owned by its user, before it starts.
	stateDirs() []stateDir
	// prepare makes what must be in them before the first start: seeds that are written once, never again.
	prepare(ctx context.Context, g *Guest) error
	// intact tells whether the release in dir still has all it needs beside its program.
	intact(ctx context.Context, g *Guest, dir string) (bool, error)
	// discard removes what the release in dir has outside of dir; it can be called again.
	discard(ctx context.Context, g *Guest, dir string) error
}

// stateDir is a directory on the data disk.
type stateDir struct {
	path string
	uid  int
	mode uint32
}

// components are the six, in the order in which they are installed and checked.
func components() []component {
	return []component{node{}, uv{}, claude{}, codex{}, hermes{}, executor{}}
}

// dependents are the components whose releases are smoked again when one they run on has changed.
var dependents = map[string][]string{"node": {"hermes"}, "uv": {"hermes"}}

// plain is embedded by components that keep nothing outside their release and state directories.
type plain struct{}

func (plain) unit() string                                         { return "" }
func (plain) stateDirs() []stateDir                                { return nil }
func (plain) prepare(context.Context, *Guest) error                { return nil }
func (plain) intact(context.Context, *Guest, string) (bool, error) { return true, nil }
func (plain) discard(context.Context, *Guest, string) error        { return nil }
