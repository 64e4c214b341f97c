package ops

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
)

// Status is the state of a box, as it is now or as it was last seen.
type Status struct {
	Box        string            `json:"box"`
	State      string            `json:"state"` // absent stopped starting running stopping degraded
	Cause      string            `json:"cause,omitempty"`
	Live       bool              `json:"live"` // Guest is of now; else it is the last known
	Seen       *time.Time        `json:"seen,omitempty"`
	Guest      *protocol.Status  `json:"guest,omitempty"` // without its lock and its components: Components tells of both
	Components []ComponentStatus `json:"components,omitempty"`
	Platform   []Drifted         `json:"platform_drift,omitempty"`
	LockError  string            `json:"lock_error,omitempty"`
	Ports      protocol.Ports    `json:"ports"`
	Forwards   []Port            `json:"forwards,omitempty"`           // how each port stands on this machine, just asked
	Skew       float64           `json:"clock_skew_seconds,omitempty"` // of the box's clock, positive where it is ahead
	Busy       string            `json:"busy,omitempty"`               // "create is under way", "destroy was cut off"
	Underway   *Underway         `json:"underway,omitempty"`           // the same, with all there is to tell
}

// ComponentStatus puts desired, applied and running side by side.
type ComponentStatus struct {
	Name    string `json:"name"`
	Desired string `json:"desired,omitempty"`
	Applied string `json:"applied,omitempty"`
	// Previous is the release before the applied one, where it is kept.
	Previous string `json:"previous,omitempty"`
	State    string `json:"state"`           // healthy setup-required starting stopped failed, unknown where it was not asked
	Drift    string `json:"drift,omitempty"` // how it differs from the lock, whatever its state; empty if it does not
	Detail   string `json:"detail,omitempty"`
	Service  string `json:"service,omitempty"`
	Since    int64  `json:"since,omitempty"` // seconds the service has been up
	Last     string `json:"last,omitempty"`  // the last state that the box told: now, or when it was last seen
}

// Drifted is one difference between what the lock says and what is applied.
type Drifted struct {
	Name   string `json:"name"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// seen is the last status of a box that answered, as the host keeps it.
type seen struct {
	At     time.Time       `json:"at"`
	Box    time.Time       `json:"box"` // when the box was created: another box of that name has another
	Status protocol.Status `json:"status"`
}

// Status looks at the box: the VM's state and one ssh round trip into it. It takes no lock and changes nothing. A box
// that is off, or that does not answer, is shown as it was last seen.
func (b *Box) Status(ctx context.Context) (*Status, error) {
	st := b.recorded()
	if b.Record == nil || !b.Record.Ready {
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
	if dead := deadForwards(st.Forwards); dead != "" && st.State == string(limactl.Running) {
		if len(s.vm.Notes) > 0 {
			dead += " (Lima reported at boot: " + s.vm.Notes[0] + ")"
		}
		st.State, st.Cause = string(limactl.Degraded), dead
	}
	return st, nil
}

// brief returns a status without the lock and the components, for results that have both already.
func brief(guest *protocol.Status) *protocol.Status {
	b := *guest
	b.Lock, b.Components = "", nil
	return &b
}

// remember saves a status, to show it while the box is off. It ignores errors.
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
