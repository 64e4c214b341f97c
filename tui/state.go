package tui

import (
	"fmt"
	"os"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/lock"
	"hermes-box/tui/widget"
)

// state is what the dashboard knows of the box: what the host's files say, and the last answer of the box itself.
type state struct {
	known Known
	live  *ops.Status // the last answer; nil before the first, and once the host's files contradict it
	vm    string      // the state of the VM by the host's files when live arrived
	seen  time.Time   // when live arrived
	load  []float64   // of the CPUs, each between 0 and 1, the newest last

	asking bool
	asked  time.Time
	failed error     // of the last question
	since  time.Time // an answer to a question from before then is outdated

	own *operation // the operation of this dashboard that is under way; nil: none
}

// status returns what is known best. It is never nil.
func (s *state) status() *ops.Status {
	switch {
	case s.live != nil && s.known.Exists:
		return s.live
	case s.known.Status != nil:
		return s.known.Status
	}
	return &ops.Status{State: string(limactl.Absent)}
}

// name is the name of the box; that of the program where there is no config.
func (s *state) name() string {
	if s.known.Name != "" {
		return s.known.Name
	}
	return "hermes-box"
}

// hasBox tells whether there is a box to show; one whose create was cut off is none.
func (s *state) hasBox() bool {
	return s.known.Exists && (s.known.Ready || s.busy() != "")
}

// learn takes in what the host's files say. It tells whether they contradict the last answer of the box, which is then
// forgotten.
func (s *state) learn(k Known, now time.Time) (contradicted bool) {
	switch {
	case k.Name != s.known.Name, !k.Exists, !s.known.Exists: // another box, or none, or one that was just made
		contradicted = true
	case s.live != nil && k.Status != nil && k.Status.State != s.vm:
		contradicted = true
	}
	s.known = k
	if contradicted {
		s.forget(now)
	}
	return contradicted
}

// forget drops the last answer, and the one to a question that is still open.
func (s *state) forget(now time.Time) { s.live, s.since = nil, now }

// answered takes in an answer of the box. A question that failed leaves the last answer, which then grows old.
func (s *state) answered(msg statusMsg) {
	s.asking, s.failed = false, msg.err
	if msg.err != nil || msg.status == nil || msg.asked.Before(s.since) {
		return
	}
	s.live, s.seen, s.vm = msg.status, msg.at, ""
	if s.known.Status != nil {
		s.vm = s.known.Status.State
	}
	g := msg.status.Guest
	if g == nil || !msg.status.Live {
		return
	}
	s.load = append(s.load, g.Load/float64(max(1, g.CPUs)))
	if len(s.load) > 60 {
		s.load = s.load[1:]
	}
}

// underway returns what changes the box now, or was cut off, by the host's files; nil if there is nothing.
func (s *state) underway() *ops.Underway {
	if s.known.Status == nil {
		return nil
	}
	return s.known.Status.Underway
}

// others returns what another process does to the box now; nil if there is none.
func (s *state) others() *ops.Underway {
	if u := s.underway(); u != nil && u.Running && u.PID != os.Getpid() {
		return u
	}
	return nil
}

// busy is why nothing can be changed now; empty if it can.
func (s *state) busy() string {
	if s.own != nil {
		return s.own.verb.name + " is under way: o shows it"
	}
	if u := s.others(); u != nil {
		return "another hermes-box is at work: " + u.Operation + " is under way"
	}
	return ""
}

// cutOff is the operation that was cut off and is to be finished; nil if there is none.
func (s *state) cutOff() *ops.Underway {
	if u := s.underway(); u != nil && !u.Running {
		return u
	}
	return nil
}

// resumable is the operation that was cut off and has left the box half made or half removed; nil if there is none.
func (s *state) resumable() *ops.Underway {
	if u := s.cutOff(); u != nil && u.Unfinished() && verbOf(u.Resume).id != "" {
		return u
	}
	return nil
}

// sign is the state of the box in its header.
func (s *state) sign() widget.Sign {
	switch {
	case s.own != nil:
		done, all := s.own.progress()
		return sign("▸", fmt.Sprintf("%s %d of %d", s.own.verb.name, done, all), widget.AtWork)
	case s.known.Err != nil:
		return sign("!", "no config", widget.Warn)
	}
	word := s.status().State
	if u := s.others(); u != nil && word == string(limactl.Degraded) { // what is being changed has not failed
		return sign("◌", u.Operation+" under way", widget.AtWork)
	}
	return SignOf(word)
}

// stale returns how old what is shown is; 0 while it is current.
func (s *state) stale(now time.Time) time.Duration {
	st := s.status()
	switch {
	case st.Seen != nil && !st.Live:
		return max(now.Sub(*st.Seen), time.Second)
	case !st.Live || s.seen.IsZero():
		return 0
	case s.failed != nil, s.asking && now.Sub(s.asked) > 2*pollOften, now.Sub(s.seen) > pollSeldom+2*pollOften:
		return max(now.Sub(s.seen), time.Second)
	}
	return 0
}

// skew is how far the clock of the box is wrong, in words; empty where it is right or not known.
func (s *state) skew() string {
	st := s.status()
	if !st.Live {
		return ""
	}
	return ops.SkewText(time.Duration(st.Skew * float64(time.Second)))
}

// upTime is how long the box has been up by now.
func (s *state) upTime(now time.Time) time.Duration {
	up := time.Duration(s.status().Guest.Uptime) * time.Second
	if !s.seen.IsZero() {
		up += now.Sub(s.seen)
	}
	return up
}

// components are those of the last status; of a box that was never asked, those of the lock.
func (s *state) components() []ops.ComponentStatus {
	if all := s.status().Components; len(all) > 0 || s.known.Lock == nil {
		return all
	}
	var all []ops.ComponentStatus
	for _, name := range lock.Order {
		all = append(all, ops.ComponentStatus{Name: name, Desired: s.desired(name).Version, State: unknown})
	}
	return all
}

// desired is a component in the lock; nil if it is not there.
func (s *state) desired(name string) *lock.Component {
	if s.known.Lock == nil {
		return nil
	}
	return s.known.Lock.Components[name]
}

// drifted counts what differs from the lock and the config.
func (s *state) drifted() int {
	n := len(s.status().Platform)
	for _, c := range s.status().Components {
		if hasDrifted(c) {
			n++
		}
	}
	return n
}

// unknown is the state of a component that was not asked.
const unknown = "unknown"

// componentSign is the state of a component now; dim marks one that is not of now. While an operation is under way its
// own events count, not what was known before.
func (s *state) componentSign(c ops.ComponentStatus) (sg widget.Sign, dim bool) {
	st := s.status()
	last := lastState(c)
	switch {
	case s.own != nil:
		if now := s.own.health(c.Name); now != "" {
			return SignOf(now), false
		}
	case st.Live:
		return SignOf(last), false
	case st.State == string(limactl.Stopped) && s.others() == nil:
		return SignOf(protocol.Stopped), false
	}
	switch last {
	case "", unknown, protocol.Stopped:
		return SignOf(unknown), false
	case protocol.SetupRequired:
		return sign("○", "had no login", widget.Quiet), true
	}
	return sign("○", "was "+last, widget.Quiet), true
}
