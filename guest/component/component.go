// Package component has the six components: how each is unpacked, test-run and checked for health, and which service
// runs it. The engine, in package guest, does what they have in common: order, journal, symlinks, starting the service,
// the previous release, undoing.
package component

import (
	"context"

	"hermes-box/guest/durable"
	"hermes-box/guest/machine"
	"hermes-box/guest/object"
	"hermes-box/guest/protocol"
)

// Component is one of the six components. The directories passed to its methods are real paths: see durable.Tree.Path.
type Component interface {
	Name() string
	// Stage unpacks the release's objects into dir, which is empty. dir is renamed later, so no file in it may contain
	// its path, unless Smoke corrects that.
	Stage(ctx context.Context, env Env, c protocol.Component, dir string) error
	// Smoke checks that the release in dir works and has the right version. Programs run with an empty home directory,
	// so that no login or state of the user is read or written.
	Smoke(ctx context.Context, env Env, c protocol.Component, dir string) error
	// Commands are the commands to link into /usr/local/bin: name -> path inside the release. A path that the release
	// does not have gets no link.
	Commands() map[string]string
	// Unit is the service that runs the component; empty if there is none.
	Unit() string
	// Health returns one of the component states of the protocol, and the reason. It must be cheap and work without
	// privilege, because Status calls it. unit is the state of Unit().
	Health(ctx context.Context, env Env, unit machine.Unit) (state, detail string)
	// StateDirs are the directories on the data disk that the component needs. They are made before its first start.
	StateDirs() []durable.Dir
	// Prepare writes the files that the component needs before its first start. Prepare is called at every activation.
	Prepare(ctx context.Context, env Env) error
	// Intact reports whether everything still exists that Smoke made for the release in dir.
	Intact(ctx context.Context, env Env, dir string) (bool, error)
	// Discard removes everything outside of dir that belongs to the release in dir. It can be called again.
	Discard(ctx context.Context, env Env, dir string) error
}

// Env is the machine that the methods of a component work on.
type Env struct {
	durable.Tree
	Machine Machine
	Emit    func(protocol.Event) // called from several goroutines
}

// Machine is the set of actions that components need. Package machine describes the methods.
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

// All returns the six components, in the order in which they are installed and checked.
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

// Dependents maps a component to those that need it. When the component has changed, the current releases of its
// dependents are smoke-tested again, except incomplete ones.
var Dependents = map[string][]string{"node": {"hermes"}, "uv": {"hermes"}}

// programOnly has methods that fit a component without a service and without files outside its release. The components
// other than Executor embed programOnly and replace the methods that do not fit.
type programOnly struct{}

func (programOnly) Unit() string                                      { return "" }
func (programOnly) StateDirs() []durable.Dir                          { return nil }
func (programOnly) Prepare(context.Context, Env) error                { return nil }
func (programOnly) Intact(context.Context, Env, string) (bool, error) { return true, nil }
func (programOnly) Discard(context.Context, Env, string) error        { return nil }
