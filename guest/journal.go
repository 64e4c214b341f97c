package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hermes-box/guest/component"
	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// step of a journal: how far the change of one component has come.
const (
	ahead      = "ahead"      // no component has its turn; what is staged for those to come is thrown away
	staging    = "staging"    // nothing current has changed; what is being made is thrown away
	activating = "activating" // links and services may be the candidate's; they are put back
	committing = "committing" // it was healthy; what is left is bookkeeping, and is finished
	locking    = "locking"    // every component is committed; applied.lock is left
)

// journal is the durable record of the change under way. It is written before the first thing that would have
// to be undone, and removed last, so that whoever finds it knows all there is to undo or to finish.
type journal struct {
	Transaction protocol.Transaction `json:"transaction"`
	Boot        string               `json:"boot"` // boot id: services of an earlier boot need no restart
	Step        string               `json:"step"`
	Candidate   release              `json:"candidate"`
	Fresh       bool                 `json:"fresh"`            // this change made the candidate's directory
	Before      string               `json:"before,omitempty"` // what current/<component> pointed to
	Running     bool                 `json:"running"`          // the unit was active
	Drop        string               `json:"drop,omitempty"`   // release that goes when the candidate stays
}

// component returns the component whose turn it is; false between turns.
func (j *journal) component() (component.Component, bool) {
	return component.Named(j.Candidate.Component.Name)
}

func (j *journal) String() string {
	c := j.Candidate.Component
	if c.Name == "" {
		return fmt.Sprintf("transaction %s: %s", j.Transaction.ID, j.Step)
	}
	return fmt.Sprintf("transaction %s: %s %s %s", j.Transaction.ID, j.Step, c.Name, c.Version)
}

// readJournal gives nil if no change is under way.
func (g *Guest) readJournal() (*journal, error) {
	path := g.Path(layout.Journal)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	j := new(journal)
	if err := durable.ReadJSON(path, j); err != nil {
		return nil, &protocol.Error{Code: "integrity_failed", Message: "the journal cannot be read: " + err.Error(),
			Hint: "look at it: hermes-box exec -- sudo ls -l " + protocol.StateDir}
	}
	return j, nil
}

func (g *Guest) writeJournal(j *journal) error { return g.WriteJSON(g.Path(layout.Journal), j) }

func (g *Guest) clearJournal() error { return g.Remove(g.Path(layout.Journal)) }

// bootID names the running boot; empty where the kernel does not tell.
func (g *Guest) bootID() string {
	id, err := os.ReadFile(g.Path("/proc/sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
