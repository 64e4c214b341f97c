package guest

import (
	"context"
	"fmt"
	"slices"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/object"
	"hermes-box/guest/protocol"
)

// Apply installs the components of a transaction in the order of component.All, each through the phases stage, smoke,
// activate and health. While one component is installed, later ones are already being staged. If a component is applied
// already, Apply only checks its health, and restarts its service if necessary.
//
// If a component fails, Apply undoes its change and stops. The error names the component and the phase that failed. The
// components before it stay; each is healthy and recorded.
func (g *Guest) Apply(ctx context.Context, tx protocol.Transaction) (protocol.Applied, error) {
	done := protocol.Applied{Components: []protocol.AppliedComponent{}}
	if err := checkTransaction(tx); err != nil {
		return done, err
	}
	unlock, err := g.exclusive(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	if _, err := g.recover(ctx); err != nil {
		return done, err
	}
	if err := g.CheckData(ctx); err != nil {
		return done, err
	}
	if _, err := g.AppliedState(); err != nil { // find a damaged record before anything is activated
		return done, err
	}
	if _, err := component.WritePorts(g.Tree, tx.Ports); err != nil {
		return done, err
	}
	todo, err := g.changes(ctx, tx)
	if err != nil {
		return done, err
	}
	if err := g.writeJournal(&journal{Transaction: tx, Boot: g.bootID(), Step: ahead}); err != nil {
		return done, err
	}
	stop := g.stageAhead(ctx, todo)
	defer stop()
	for _, ch := range todo {
		if err := ch.apply(ctx, stop); err != nil {
			return done, err
		}
		state, err := g.AppliedState()
		if err != nil {
			return done, err
		}
		done.Components = append(done.Components, state[ch.c.Name()])
	}
	if err := g.writeJournal(&journal{Transaction: tx, Boot: g.bootID(), Step: locking}); err != nil {
		return done, err
	}
	if err := g.finish(tx); err != nil {
		return done, err
	}
	if err := g.Objects().Clear(ctx); err != nil {
		return done, err
	}
	return done, g.clearJournal()
}

// changes returns the changes of a transaction, in the order of component.All.
func (g *Guest) changes(ctx context.Context, tx protocol.Transaction) ([]*change, error) {
	all, err := g.releases()
	if err != nil {
		return nil, err
	}
	var todo []*change
	for _, c := range component.All() {
		i := slices.IndexFunc(tx.Components, func(w protocol.Component) bool { return w.Name == c.Name() })
		if i < 0 {
			continue
		}
		ch := &change{g: g, c: c, tx: tx, want: tx.Components[i], kept: all[c.Name()],
			staged: make(chan error, 1), applied: make(chan struct{})}
		if ch.have, err = g.keptRelease(ctx, c, ch.want, ch.kept); err != nil {
			return nil, err
		}
		todo = append(todo, ch)
	}
	return todo, nil
}

// checkTransaction returns an error for a transaction that is not well-formed.
func checkTransaction(tx protocol.Transaction) error {
	bad := func(format string, args ...any) error {
		return &protocol.Error{Code: "invalid_input", Message: "transaction: " + fmt.Sprintf(format, args...)}
	}
	if !layout.ValidName(tx.ID) {
		return bad("id %q is not a name", tx.ID)
	}
	if !component.ValidPorts(tx.Ports) {
		return bad("ports %d and %d are not two different ports", tx.Ports.Executor, tx.Ports.Dashboard)
	}
	seen := map[string]bool{}
	for _, w := range tx.Components {
		if _, ok := component.Named(w.Name); !ok {
			return bad("unknown component %q", w.Name)
		}
		if seen[w.Name] {
			return bad("%s is listed twice", w.Name)
		}
		seen[w.Name] = true
		if !layout.ValidName(w.Version) {
			return bad("%s: version %q cannot name a directory", w.Name, w.Version)
		}
		if len(w.Artifacts) == 0 {
			return bad("%s has no artifacts", w.Name)
		}
		for _, a := range w.Artifacts {
			if !layout.ValidName(a.Name) {
				return bad("%s: artifact %q is not a file name", w.Name, a.Name)
			}
		}
		for _, digest := range w.Objects() {
			if _, err := object.Name(digest); err != nil {
				return bad("%s: %v", w.Name, err)
			}
		}
	}
	return nil
}
