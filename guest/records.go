package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// release is one installed version of a component: its artifacts, and the name of its directory.
type release struct {
	Component protocol.Component `json:"component"`
	Dir       string             `json:"dir"`
}

func (r release) digest() string { return protocol.ReleaseDigest(r.Component.Artifacts) }

// kept are the committed releases of one component, at most two. Each was healthy when it was activated.
type kept struct {
	Current  *release `json:"current,omitempty"`
	Previous *release `json:"previous,omitempty"`
}

// byComponent is the form of applied.json and releases.json. Version is the protocol version of the helper that wrote the
// file; helpers up to version 3 wrote only the map of components, without a version.
type byComponent[T any] struct {
	Version    int          `json:"version"`
	Components map[string]T `json:"components"`
}

// AppliedState returns the content of applied.json: what was recorded at the last healthy activation of each component,
// by the component's name. It is empty on a fresh root.
func (g *Guest) AppliedState() (map[string]protocol.AppliedComponent, error) {
	return readComponents[protocol.AppliedComponent](g.Path(layout.Applied))
}

func (g *Guest) releases() (map[string]kept, error) {
	return readComponents[kept](g.Path(layout.Releases))
}

func readComponents[T any](path string) (map[string]T, error) {
	var record byComponent[T]
	if found, err := readRecord(path, &record); err != nil {
		return nil, err
	} else if found && record.Version == 0 {
		record.Components = nil
		if _, err := readRecord(path, &record.Components); err != nil {
			return nil, err
		}
	}
	if record.Components == nil {
		record.Components = map[string]T{}
	}
	return record.Components, nil
}

func writeComponents[T any](g *Guest, path string, components map[string]T) error {
	return g.WriteJSON(g.Path(path), byComponent[T]{protocol.Version, components})
}

// readRecord decodes a record of the engine, if there is one. A field that this version does not know is an error,
// except in a record of an older version. The error says if the record was written by a newer version.
func readRecord(path string, into any) (found bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err = dec.Decode(into); err == nil {
		return true, nil
	}
	var writer struct {
		Version int `json:"version"`
	}
	switch json.Unmarshal(data, &writer); {
	case writer.Version > protocol.Version:
		return true, &protocol.Error{Code: "integrity_failed",
			Message: fmt.Sprintf("%s was written by a newer version of hermes-box (protocol %d; this one has %d)", filepath.Base(path), writer.Version, protocol.Version),
			Hint:    "upgrade hermes-box on the host, then run the command again"}
	case writer.Version < protocol.Version && json.Unmarshal(data, into) == nil:
		return true, nil
	}
	return true, &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf("%s is damaged: %v", filepath.Base(path), err),
		Hint: "look at it: hermes-box exec -- sudo cat " + protocol.StateDir + "/" + filepath.Base(path)}
}

// AppliedLock returns the canonical text of the lock that was applied last; empty if none was.
func (g *Guest) AppliedLock() (string, error) {
	text, err := os.ReadFile(g.Path(layout.AppliedLock))
	if os.IsNotExist(err) {
		return "", nil
	}
	return string(text), err
}

// commit records the candidate as current and removes the release that the journal says to drop. The release before the
// candidate becomes the previous one, unless it is dropped. commit can be run again after a crash.
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
		if err := writeComponents(g, layout.Releases, all); err != nil {
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
	if err := writeComponents(g, layout.Applied, state); err != nil {
		return err
	}
	if j.Drop == "" {
		return nil
	}
	c, _ := j.component()
	return g.removeRelease(ctx, c, j.Drop)
}

// finish writes applied.lock after all components are healthy.
func (g *Guest) finish(tx protocol.Transaction) error {
	return g.Write(g.Path(layout.AppliedLock), []byte(tx.Lock), 0o644)
}
