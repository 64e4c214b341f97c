package ops

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// Status is the state of a box, as it is now or as it was last seen.
type Status struct {
	Box        string            `json:"box"`
	State      string            `json:"state"` // absent stopped starting running stopping degraded unknown
	Cause      string            `json:"cause,omitempty"`
	Repair     string            `json:"repair,omitempty"` // of Cause, if a command repairs it
	Live       bool              `json:"live"`             // Guest is current; otherwise it is the last known
	Seen       *time.Time        `json:"seen,omitempty"`
	Guest      *protocol.Status  `json:"guest,omitempty"` // Box.Status leaves out its lock and components
	Components []ComponentStatus `json:"components,omitempty"`
	Platform   []Drifted         `json:"platform_drift,omitempty"`
	LockError  string            `json:"lock_error,omitempty"`
	Ports      protocol.Ports    `json:"ports"`
	Forwards   []Port            `json:"forwards,omitempty"`           // the ports on this machine, just checked
	Skew       float64           `json:"clock_skew_seconds,omitempty"` // of the box's clock, positive if it is ahead
	Busy       string            `json:"busy,omitempty"`               // "create is under way", "destroy was cut off"
	Underway   *Underway         `json:"underway,omitempty"`           // the operation that Busy names
	Schedule   *BackupSchedule   `json:"backup_schedule,omitempty"`    // nil: no timer makes backups, and none should
	Kept       *KeptBackup       `json:"newest_backup,omitempty"`      // of a box that does not exist: its newest good backup
	Key        *Advised          `json:"key_problem,omitempty"`        // what is wrong with the key of the backups; no keyring is asked
}

// ComponentStatus is the desired and the applied version of a component, and its state.
type ComponentStatus struct {
	Name    string `json:"name"`
	Desired string `json:"desired,omitempty"`
	Applied string `json:"applied,omitempty"`
	// Previous is the release before the applied one, if it is kept.
	Previous string `json:"previous,omitempty"`
	State    string `json:"state"`           // healthy setup-required starting stopped failed; unknown: not asked
	Drift    string `json:"drift,omitempty"` // how it differs from the lock, whatever its state; empty if it does not
	Detail   string `json:"detail,omitempty"`
	Service  string `json:"service,omitempty"`
	Since    int64  `json:"since,omitempty"` // seconds the service has been up
	Last     string `json:"last,omitempty"`  // the last state that the box reported, now or earlier
}

// Drifted is one difference between what the lock or the config says and what is applied.
type Drifted struct {
	Name   string `json:"name"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// seen is the last status that a box has answered, as the host stores it.
type seen struct {
	At     time.Time       `json:"at"`
	Box    time.Time       `json:"box"` // when the box was created, to recognize a later box of the same name
	Status protocol.Status `json:"status"`
}

// Status returns the state of the box: of its VM and, with one ssh round trip, of its guest. It takes no lock, and
// changes nothing but the stored last answer of the guest. A box that is off, or that does not answer, is shown as it
// was last seen.
func (b *Box) Status(ctx context.Context) (*Status, error) {
	st := b.recorded()
	if b.Record == nil && b.RecordErr == nil {
		kept, err := b.kept()
		if st.Kept = kept; err != nil && st.Cause == "" {
			st.Cause = "its backups are not known: " + err.Error()
		}
	}
	if !b.made() && !b.hasPool() {
		return st, nil
	}
	key, err := keys.Read(b.Home, b.Name())
	if err := b.keyProblem(ctx, key, err, false); err != nil {
		st.Key = advised(err)
	}
	if err := b.recordLost(); err != nil {
		st.State, st.Cause, st.Repair = NotAsked, err.Error(), fault.HintOf(err)
	}
	if !b.made() {
		return st, nil
	}
	begun := time.Now()
	ports := b.askPorts(ctx)
	s := b.observe(ctx)
	ended := time.Now()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b.settleState(st, s)
	if s.guest != nil {
		st.Live, st.Guest = true, s.guest
		b.remember(s.guest)
		if skew, err := clockSkew(s.guest.Now, begun, ended); err == nil {
			st.Skew = math.Round(skew.Seconds())
		}
	} else if last := b.lastSeen(); last != nil {
		st.Guest, st.Seen = &last.Status, &last.At
	}
	if st.Guest != nil {
		b.compare(st)
		st.Guest = brief(st.Guest)
	}
	st.Forwards = b.judgePorts(ctx, ports(portLimit(ended.Sub(begun))), s.guest, off(s.vm) && s.guest == nil)
	st.settleForwards(s.vm.Notes)
	return st, nil
}

// settleForwards changes the state of a running box whose ports are not forwarded. While an operation changes the box,
// that is no problem: its services stop and start one after the other.
func (s *Status) settleForwards(notes []string) {
	dead := deadForwards(s.Forwards)
	if dead == "" || s.State != string(limactl.Running) {
		return
	}
	if during := s.Underway.during(); during != "" {
		s.State = string(during)
		return
	}
	if len(notes) > 0 {
		dead += " (Lima reported at boot: " + notes[0] + ")"
	}
	s.State, s.Cause = string(limactl.Degraded), dead
}

// brief returns a status without the lock and the components, for results that have both already.
func brief(guest *protocol.Status) *protocol.Status {
	b := *guest
	b.Lock, b.Components = "", nil
	return &b
}

// remember stores a status, to be shown while the box is off. It ignores errors.
func (b *Box) remember(s *protocol.Status) {
	if s != nil {
		_ = b.Home.SaveSeen(b.Name(), seen{time.Now().UTC(), b.Record.Created, *s})
	}
}

func (b *Box) lastSeen() *seen {
	var raw json.RawMessage
	var s seen
	if b.Home.Seen(b.Name(), &raw) != nil || json.Unmarshal(raw, &s) != nil || !s.Box.Equal(b.Record.Created) {
		return nil
	}
	return &s
}
