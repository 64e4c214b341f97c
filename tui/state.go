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

// state is what the dashboard knows about the box, from the host's files and from the last answer of the box.
type state struct {
	known Known
	live  *ops.Status // the last answer; nil before the first, and once the host's files contradict it
	vm    string      // the state of the VM in the host's files when live arrived
	seen  time.Time   // when live arrived
	load  []float64   // of the CPUs, 1 if all are busy; the newest last

	asking bool
	asked  time.Time
	failed error     // error of the last status
	since  time.Time // a status requested before this time is outdated

	backupFailed time.Time // when a backup of this dashboard failed; zero if the last one was good

	own *operation // the operation of this dashboard that is under way; nil if there is none
}

// status returns the last answer of the box or, if there is none, the state according to the host's files. It is never
// nil.
func (s *state) status() *ops.Status {
	switch {
	case s.live != nil && s.known.Exists:
		return s.live
	case s.known.Status != nil:
		return s.known.Status
	}
	return &ops.Status{State: string(limactl.Absent)}
}

// name returns the name of the box, or that of the program if there is no config.
func (s *state) name() string {
	if s.known.Name != "" {
		return s.known.Name
	}
	return "hermes-box"
}

// hasBox reports whether there is a box to show. A box whose create was cut off does not count.
func (s *state) hasBox() bool {
	return s.known.Exists && (s.known.Ready || s.busy() != "")
}

// learn sets the state according to the host's files. It reports whether they contradict the last answer of the box. If
// they do, it drops that answer.
func (s *state) learn(k Known, now time.Time) (contradicted bool) {
	switch {
	case k.Name != s.known.Name, !k.Exists, !s.known.Exists: // another box, none, or a new one
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

// forget drops the last answer, and an answer that was requested already and is still to come.
func (s *state) forget(now time.Time) { s.live, s.since = nil, now }

// answered sets the last answer of the box. If the status failed, the last answer stays.
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

// underway returns the operation that is under way or was cut off, from the host's files; nil if there is none.
func (s *state) underway() *ops.Underway {
	if s.known.Status == nil {
		return nil
	}
	return s.known.Status.Underway
}

// others returns the operation that another process runs now; nil if there is none.
func (s *state) others() *ops.Underway {
	if u := s.underway(); u != nil && u.Running && u.PID != os.Getpid() {
		return u
	}
	return nil
}

// busy returns why the box cannot be changed now; empty if it can.
func (s *state) busy() string {
	if s.own != nil {
		return s.own.verb.name + " is under way: o shows it"
	}
	if u := s.others(); u != nil {
		return "another hermes-box is at work: " + u.Operation + " is under way"
	}
	return ""
}

// cutOff returns the operation that was cut off and is to be finished; nil if there is none.
func (s *state) cutOff() *ops.Underway {
	if u := s.underway(); u != nil && !u.Running {
		return u
	}
	return nil
}

// resumable returns the operation that was cut off and has left the box half made or half removed; nil if there is
// none.
func (s *state) resumable() *ops.Underway {
	if u := s.cutOff(); u != nil && u.Unfinished() && verbOf(u.Resume).id != "" {
		return u
	}
	return nil
}

// sign returns the sign of the state of the box, for the header.
func (s *state) sign() widget.Sign {
	switch {
	case s.own != nil:
		done, all := s.own.progress()
		return sign("▸", fmt.Sprintf("%s %d of %d", s.own.verb.name, done, all), widget.AtWork)
	case s.known.Err != nil:
		return sign("!", "no config", widget.Warn)
	}
	word := s.status().State
	if u := s.others(); u != nil && word == string(limactl.Degraded) { // a box that is being changed has not failed
		return sign("◌", u.Operation+" under way", widget.AtWork)
	}
	return SignOf(word)
}

// stale returns the age of the state that is shown; 0 while it is current.
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

// skew returns a text with the error of the box's clock; empty if it is right or not known.
func (s *state) skew() string {
	st := s.status()
	if !st.Live {
		return ""
	}
	return ops.SkewText(time.Duration(st.Skew * float64(time.Second)))
}

// upTime returns how long the box has been up by now.
func (s *state) upTime(now time.Time) time.Duration {
	up := time.Duration(s.status().Guest.Uptime) * time.Second
	if !s.seen.IsZero() {
		up += now.Sub(s.seen)
	}
	return up
}

// components returns the components of the last status or, if the box was never asked, of the lock.
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

// desired returns a component of the lock; nil if there is no lock or no such component.
func (s *state) desired(name string) *lock.Component {
	if s.known.Lock == nil {
		return nil
	}
	return s.known.Lock.Components[name]
}

// drifted returns the number of differences from the lock and the config.
func (s *state) drifted() int {
	n := len(s.status().Platform)
	for _, c := range s.status().Components {
		if hasDrifted(c) {
			n++
		}
	}
	return n
}

// unknown is the state of a component before the box has reported one.
const unknown = "unknown"

// componentSign returns the sign of the state of a component; dim marks a state that is not current. While an operation
// is under way the state comes from its events.
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
