package guest

import (
	"context"
	"fmt"
	"slices"

	"hermes-box/guest/protocol"
)

// Apply installs the components of a transaction, one at a time and in the fixed order, each through stage,
// smoke, activate and health. One that is applied already is skipped. At the first failure that component is
// put back as it was and the error says which phase failed; those before it stay, each healthy and recorded.
func (g *Guest) Apply(ctx context.Context, tx protocol.Transaction) (protocol.Applied, error) {
	done := protocol.Applied{ID: tx.ID, Components: []protocol.AppliedComponent{}}
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
	moved, err := g.writePorts(tx.Ports)
	if err != nil {
		return done, err
	}
	for _, c := range components() {
		i := slices.IndexFunc(tx.Components, func(w protocol.Component) bool { return w.Name == c.name() })
		if i < 0 {
			continue
		}
		if err := g.applyComponent(ctx, c, tx, tx.Components[i], moved); err != nil {
			return done, err
		}
		state, err := g.AppliedState()
		if err != nil {
			return done, err
		}
		done.Components = append(done.Components, state[c.name()])
	}
	j := &journal{Transaction: tx, Boot: g.bootID(), Step: locking}
	if err := g.writeJournal(j); err != nil {
		return done, err
	}
	if err := g.finish(tx); err != nil {
		return done, err
	}
	return done, g.clearJournal()
}

func checkTransaction(tx protocol.Transaction) error {
	bad := func(format string, args ...any) error {
		return &protocol.Error{Code: "invalid_input", Message: "transaction: " + fmt.Sprintf(format, args...)}
	}
	if !safeName(tx.ID) {
		return bad("id %q is not a name", tx.ID)
	}
	if !validPorts(tx.Ports) {
		return bad("ports %d and %d are not two ports", tx.Ports.Executor, tx.Ports.Dashboard)
	}
	seen := map[string]bool{}
	for _, w := range tx.Components {
		if !slices.ContainsFunc(components(), func(c component) bool { return c.name() == w.Name }) {
			return bad("unknown component %q", w.Name)
		}
		if seen[w.Name] {
			return bad("%s is named twice", w.Name)
		}
		seen[w.Name] = true
		if !safeName(w.Version) {
			return bad("%s: version %q cannot name a directory", w.Name, w.Version)
		}
		if len(w.Artifacts) == 0 {
			return bad("%s has no artifacts", w.Name)
		}
		for _, a := range w.Artifacts {
			if !safeName(a.Name) {
				return bad("%s: artifact %q is not a file name", w.Name, a.Name)
			}
			if _, err := objectName(a.Digest); err != nil {
				return bad("%s: %s: %v", w.Name, a.Name, err)
			}
			for _, b := range a.Blobs {
				if _, err := objectName(b.Digest); err != nil {
					return bad("%s: %s: %v", w.Name, a.Name, err)
				}
			}
		}
	}
	return nil
}
