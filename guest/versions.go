package guest

import (
	"context"

	"hermes-box/guest/component"
	"hermes-box/guest/protocol"
)

// Versions repeats the smoke test of each applied release, which also checks its version. It changes nothing, and does
// not read the files of the user.
func (g *Guest) Versions(ctx context.Context) (protocol.Versions, error) {
	answers := protocol.Versions{Components: []protocol.VersionAnswer{}}
	unlock, err := g.exclusive(ctx) // a release must not be removed while it runs
	if err != nil {
		return answers, err
	}
	defer unlock()
	applied, err := g.AppliedState()
	if err != nil {
		return answers, err
	}
	for _, c := range component.All() {
		a, ok := applied[c.Name()]
		if !ok {
			continue
		}
		answer := protocol.VersionAnswer{Name: a.Name, Applied: a.Version}
		if err := g.smokeCurrent(ctx, a.Name); err != nil {
			answer.Problem = err.Error()
		}
		answers.Components = append(answers.Components, answer)
	}
	return answers, ctx.Err()
}

// smokeCurrent checks that the current release of a component still runs. Without a current release it does nothing.
func (g *Guest) smokeCurrent(ctx context.Context, name string) error {
	all, err := g.releases()
	if err != nil {
		return err
	}
	if c, ok := component.Named(name); ok && all[name].Current != nil {
		r := all[name].Current
		return c.Smoke(ctx, g.components(), r.Component, g.releasePath(c, r.Dir))
	}
	return nil
}

// incomplete reports whether the current release of a component lacks files.
func (g *Guest) incomplete(ctx context.Context, name string) (bool, error) {
	all, err := g.releases()
	if err != nil {
		return false, err
	}
	if c, ok := component.Named(name); ok && all[name].Current != nil {
		ok, err := g.complete(ctx, c, all[name].Current.Dir)
		return !ok && err == nil, err
	}
	return false, nil
}
