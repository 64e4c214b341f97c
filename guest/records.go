package guest

import (
	"context"
	"os"
	"time"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// release is one installed version of a component: what it was made of and the name of its directory.
type release struct {
	Component protocol.Component `json:"component"`
	Dir       string             `json:"dir"`
}

func (r release) digest() string { return protocol.ReleaseDigest(r.Component.Artifacts) }

// kept are the releases of one component on disk: at most two. Both were healthy once.
type kept struct {
	Current  *release `json:"current,omitempty"`
	Previous *release `json:"previous,omitempty"`
}

// AppliedState is what applied.json records: every component after its last healthy activation, by name. It is
// empty on a fresh root.
func (g *Guest) AppliedState() (map[string]protocol.AppliedComponent, error) {
	state := map[string]protocol.AppliedComponent{}
	if err := durable.ReadJSON(g.Path(layout.Applied), &state); err != nil {
		return nil, damaged(err)
	}
	return state, nil
}

// AppliedLock is the canonical text of the lock that was applied last; empty before the first.
func (g *Guest) AppliedLock() (string, error) {
	text, err := os.ReadFile(g.Path(layout.AppliedLock))
	if os.IsNotExist(err) {
		return "", nil
	}
	return string(text), err
}

func (g *Guest) releases() (map[string]kept, error) {
	all := map[string]kept{}
	if err := durable.ReadJSON(g.Path(layout.Releases), &all); err != nil {
		return nil, damaged(err)
	}
	return all, nil
}

func damaged(err error) error {
	return &protocol.Error{Code: "integrity_failed", Message: "the record of what is applied is damaged: " + err.Error(),
		Hint: "look at it: hermes-box exec -- sudo ls -l " + protocol.StateDir}
}

// commit records the candidate as current, and the one before it as previous. It can be run again after a
// crash anywhere in it.
func (g *Guest) commit(ctx context.Context, j *journal) error {
	all, err := g.releases()
	if err != nil {
		return err
	}
	name := j.Candidate.Component.Name
	k := all[name]
	if k.Current == nil || k.Current.Dir != j.Candidate.Dir {
		if k.Current != nil && k.Current.Dir != j.Drop {
			k.Previous = k.Current
		}
		k.Current = &j.Candidate
		all[name] = k
		if err := g.WriteJSON(g.Path(layout.Releases), all); err != nil {
			return err
		}
	}
	state, err := g.AppliedState()
	if err != nil {
		return err
	}
	entry := protocol.AppliedComponent{Name: name, Version: j.Candidate.Component.Version, Digest: j.Candidate.digest(),
		At: g.now().Format(time.RFC3339)}
	if k.Previous != nil {
		entry.Previous = k.Previous.Component.Version
	}
	state[name] = entry
	if err := g.WriteJSON(g.Path(layout.Applied), state); err != nil {
		return err
	}
	if j.Drop == "" {
		return nil
	}
	c, _ := j.component()
	return g.dropRelease(ctx, c, j.Drop)
}

// finish records the lock once all its components are healthy.
func (g *Guest) finish(tx protocol.Transaction) error {
	return g.Write(g.Path(layout.AppliedLock), []byte(tx.Lock), 0o644)
}
