// Package component knows the six components: how each is unpacked, proved to run, started and checked for health. What
// is the same for all of them (order, journal, symlinks, the previous release, undoing) is the engine's, in package guest.
package component

import (
	"context"

	"hermes-box/guest/durable"
	"hermes-box/guest/machine"
	"hermes-box/guest/object"
	"hermes-box/guest/protocol"
)

// Component is one of the six. Directories passed to it are real paths.
type Component interface {
	Name() string
	// Stage unpacks the release's objects into dir. dir is empty, and is renamed to the release later: nothing in it
	// may contain its path, unless Smoke corrects that.
	Stage(ctx context.Context, env Env, c protocol.Component, dir string) error
	// Smoke proves that the release in dir runs and has the version it should. It runs with an empty home directory, so
	// that no login or state of the user is read or written.
	Smoke(ctx context.Context, env Env, c protocol.Component, dir string) error
	// Commands are the commands to link into /usr/local/bin: name -> path inside the release. A path that the release
	// does not have gets no link.
	Commands() map[string]string
	// Unit is the service that runs it; empty if there is none.
	Unit() string
	// Health returns one of the component states of the protocol, and the reason. It is cheap and needs no privilege,
	// because Status calls it. unit is the state of Unit().
	Health(ctx context.Context, env Env, unit machine.Unit) (state, detail string)
	// StateDirs are the directories on the data disk that it may write to. They are made before its first start.
	StateDirs() []durable.Dir
	// Prepare writes the files that must be in StateDirs before a start.
	Prepare(ctx context.Context, env Env) error
	// Intact reports whether everything outside of dir that the release in dir needs is there.
	Intact(ctx context.Context, env Env, dir string) (bool, error)
	// Discard removes what the release in dir has outside of dir. It can be called again.
	Discard(ctx context.Context, env Env, dir string) error
}

// Env is what a component works with.
type Env struct {
	durable.Tree
	Machine Machine
	Emit    func(protocol.Event) // called from several goroutines
}

// Machine is what components do on the machine. Package machine describes the methods.
type Machine interface {
	Run(ctx context.Context, c machine.Cmd) ([]byte, error)
	Units(ctx context.Context, units ...string) (map[string]machine.Unit, error)
	UnitLog(ctx context.Context, unit string) string
	LoadImage(ctx context.Context, layout, digest, tag string) error
	HasImage(ctx context.Context, tag string) (bool, error)
	RemoveImage(ctx context.Context, tag string) error
	Get(ctx context.Context, url string, header map[string]string) (status int, body []byte, err error)
	Post(ctx context.Context, url string, header map[string]string, body []byte) (status int, answer []byte, err error)
	durable.Chowner
}

func (e Env) objects() object.Store { return object.Store{Tree: e.Tree} }

// unpack extracts an artifact and reports progress as events of the stage phase.
func (e Env) unpack(ctx context.Context, c protocol.Component, a protocol.Artifact, dir string, strip int) error {
	return e.objects().Unpack(ctx, a, dir, strip, func(done, total int64) {
		e.Emit(protocol.Event{Component: c.Name, Phase: protocol.PhaseStage, Done: done, Total: total})
	})
}

// All returns the six, in the order in which they are installed and checked.
func All() []Component {
	return []Component{Node{}, UV{}, Claude{}, Codex{}, Hermes{}, Executor{}}
}

// Named returns the component of this name.
func Named(name string) (Component, bool) {
	for _, c := range All() {
		if c.Name() == name {
			return c, true
		}
	}
	return nil, false
}

// Dependents are the components that run on another one: their releases are smoked again after it has changed.
var Dependents = map[string][]string{"node": {"hermes"}, "uv": {"hermes"}}

// programOnly is embedded by components that have no service and nothing outside their release.
type programOnly struct{}

func (programOnly) Unit() string                                      { return "" }
func (programOnly) StateDirs() []durable.Dir                          { return nil }
func (programOnly) Prepare(context.Context, Env) error                { return nil }
func (programOnly) Intact(context.Context, Env, string) (bool, error) { return true, nil }
func (programOnly) Discard(context.Context, Env, string) error        { return nil }
