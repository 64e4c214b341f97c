package guest

import (
	"fmt"
	"os"
	"strings"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// The steps of a journal: how far the transaction is, and what recovery does at this step.
const (
	ahead      = "ahead"      // before or between the components: staged releases are removed
	staging    = "staging"    // nothing current has changed: the new release is removed
	activating = "activating" // links and services may be those of the candidate: they are restored
	committing = "committing" // the candidate was healthy: the records are completed
	locking    = "locking"    // every component is committed: applied.lock is written
)

// journal is the record of the change that is under way. It is written before the first effect that would have to be
// undone, and removed last. It holds everything that recovery needs to undo or finish the change.
type journal struct {
	Version     int                  `json:"version"` // protocol version of the helper that wrote it
	Transaction protocol.Transaction `json:"transaction"`
	Boot        string               `json:"boot"` // boot id: services of an earlier boot need no restart
	Step        string               `json:"step"`
	Candidate   release              `json:"candidate"`
	Fresh       bool                 `json:"fresh"`            // this change made the candidate's directory
	Before      string               `json:"before,omitempty"` // the release that was current
	Running     bool                 `json:"running"`          // the service was active
	Drop        string               `json:"drop,omitempty"`   // the release to remove once the candidate is committed
}

// component returns the component that is being changed; false if there is none, as in the steps ahead and locking.
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

// readJournal returns the journal; nil if no change is under way.
func (g *Guest) readJournal() (*journal, error) {
	j := new(journal)
	if found, err := readRecord(g.Path(layout.Journal), j); err != nil || !found {
		return nil, err
	}
	return j, nil
}

func (g *Guest) writeJournal(j *journal) error {
	j.Version = protocol.Version
	return g.WriteJSON(g.Path(layout.Journal), j)
}

func (g *Guest) clearJournal() error { return g.Remove(g.Path(layout.Journal)) }

// bootID returns the id of the current boot; empty if it cannot be read.
func (g *Guest) bootID() string {
	id, err := os.ReadFile(g.Path("/proc/sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
