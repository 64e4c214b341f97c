package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops/lock"
)

// Status is a box as it is now, or as it was last seen.
type Status struct {
	Box        string            `json:"box"`
	State      string            `json:"state"` // absent stopped starting running degraded
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
	State    string `json:"state"` // healthy setup-required starting stopped drifted failed
	Detail   string `json:"detail,omitempty"`
	Service  string `json:"service,omitempty"`
	Since    int64  `json:"since,omitempty"` // seconds the service has been up
	Said     string `json:"said,omitempty"`  // the state that the box itself told: now, or when it was last seen
}

// Drifted is one difference between what the lock says and what is applied.
type Drifted struct {
	Name   string `json:"name"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// seen is what the host keeps of the last look.
type seen struct {
	At     time.Time       `json:"at"`
	Box    time.Time       `json:"box"` // when the box was created: another box of that name has another
	Status protocol.Status `json:"status"`
}

// Bounds of a status: for Lima's word and for the guest's.
const (
	limaBound   = 5 * time.Second
	statusBound = 20 * time.Second
)

// Status looks at the box: the VM's state and one ssh round trip into it. It takes no lock and changes
// nothing; a box that is off, or that does not answer, is shown as it was last seen.
func (b *Box) Status(ctx context.Context) (*Status, error) {
	st := b.recorded()
	if b.Record == nil || !b.Record.Ready {
		return st, nil
	}
	begun := time.Now()
	ports := b.askPorts(ctx)
	in, live, err := b.observe(ctx)
	ended := time.Now()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // limactl cannot tell; its files and the last look can
		in.State, in.Cause = b.Lima.Peek(b.Record.Instance), err.Error()
	}
	st.State = string(in.State)
	if in.Cause != "" {
		st.Cause = in.Cause
	}
	if live != nil {
		st.Live, st.Guest = true, live
		b.remember(live)
		if skew, err := clockSkew(live.Now, begun, ended); err == nil {
			st.Skew = math.Round(skew.Seconds())
		}
	} else if last := b.lastSeen(); last != nil {
		st.Guest, st.Seen = &last.Status, &last.At
	}
	if st.Guest != nil {
		b.compare(st)
		if st.Live {
			st.State = string(judge(st.Guest, st.Underway))
		}
		st.Guest = brief(st.Guest)
	}
	st.Forwards = b.judgePorts(ctx, ports(), live, in.State == limactl.Stopped || in.State == limactl.Absent)
	if dead := deadForwards(st.Forwards); dead != "" && st.State == string(limactl.Running) {
		st.State, st.Cause = string(limactl.Degraded), dead
	}
	return st, nil
}

// judge is the state of a box that answers. What start has not brought up yet has not failed.
func judge(guest *protocol.Status, u *Underway) limactl.State {
	state := limactl.Running
	if guest.DataProblem != "" || guest.LockProblem != "" || len(guest.Components) == 0 {
		state = limactl.Degraded
	}
	for _, c := range guest.Components {
		switch c.State {
		case protocol.Healthy, protocol.SetupRequired:
		case protocol.Starting:
			if state == limactl.Running {
				state = limactl.Starting
			}
		default:
			state = limactl.Degraded
		}
	}
	if during := u.during(); state == limactl.Degraded && during != "" {
		return during
	}
	return state
}

// sound is whether everything in the box works.
func sound(guest *protocol.Status) bool { return judge(guest, nil) == limactl.Running }

// brief is a status without the text of the lock and without the components, for results that tell of both already.
func brief(guest *protocol.Status) *protocol.Status {
	b := *guest
	b.Lock, b.Components = "", nil
	return &b
}

// observe asks Lima and the guest at the same time: a running box answers in the time of one ssh round trip.
func (b *Box) observe(ctx context.Context) (limactl.Instance, *protocol.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, statusBound, fmt.Errorf("no answer in %v", statusBound))
	defer cancel()
	type answer struct {
		status *protocol.Status
		err    error
	}
	guest := make(chan answer, 1)
	lookCtx, stopLooking := context.WithCancel(ctx)
	defer stopLooking()
	go func() {
		s, err := b.guestStatus(lookCtx)
		guest <- answer{s, err}
	}()
	limaCtx, stopLima := context.WithTimeoutCause(ctx, limaBound, fmt.Errorf("no answer in %v", limaBound))
	defer stopLima()
	in, err := b.instance(limaCtx)
	if err != nil {
		stopLooking()
		<-guest
		return in, nil, err
	}
	if in.State != limactl.Running {
		stopLooking()
		<-guest
		return in, nil, nil
	}
	a := <-guest
	if a.err != nil {
		in.State, in.Cause = limactl.Degraded, "the VM runs but does not answer: "+a.err.Error()
	}
	return in, a.status, nil
}

// compare sets desired beside applied and marks what has drifted.
func (b *Box) compare(st *Status) {
	d := b.drift(st.Guest)
	drifted := map[string]lock.Change{}
	for _, c := range d.Components {
		drifted[c.Name] = c
	}
	st.Platform = append(changes(d.Platform), b.machineDrift()...)
	for _, c := range st.Guest.Components {
		out := ComponentStatus{Name: c.Name, Applied: c.Applied, Previous: c.Previous, State: c.State, Said: c.State, Detail: c.Detail, Service: c.Service, Since: max(c.Since, 0)}
		if b.Lock != nil {
			out.Desired = b.Lock.Components[c.Name].Version
		}
		if d, ok := drifted[c.Name]; ok && c.State != protocol.FailedState {
			out.State, out.Detail = "drifted", d.Reason
		}
		if !st.Live {
			out.State, out.Service, out.Since = protocol.Stopped, "", 0
		}
		st.Components = append(st.Components, out)
	}
}

// drift is what the lock wants otherwise than it is applied; none where either is not known.
func (b *Box) drift(guest *protocol.Status) lock.Drift {
	if guest == nil || b.Lock == nil {
		return lock.Drift{}
	}
	applied, err := lock.Parse("applied.lock", []byte(guest.Lock))
	if err != nil {
		return lock.Drift{}
	}
	return lock.Compare(applied, b.Lock)
}

func changes(all []lock.Change) (out []Drifted) {
	for _, c := range all {
		out = append(out, Drifted(c))
	}
	return out
}

// remember keeps a status for when the box is off. Losing it is no harm.
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
