package guest

import (
	"context"

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
	// commands are links to make in /usr/local/bin: name -> path inside the release.
	commands() map[string]string
	// unit is the service that runs it, or "".
	unit() string
	// health tells whether what is activated works: one of the protocol's component states and why.
	health(ctx context.Context, g *Guest) (state, detail string)
	// stateDirs are the directories on the data disk it may touch; made, owned by its user, before it starts.
	stateDirs() []stateDir
}

// stateDir is a directory on the data disk.
type stateDir struct {
	path string
	uid  int
	mode uint32
}
