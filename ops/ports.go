package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
)

// PortState says whether a port of this machine leads to its service in the box.
type PortState string

// The states of a port.
const (
	PortOK           PortState = "ok"                  // the service in the box answered through it
	PortTaken        PortState = "host-taken"          // another program of this machine listens on it
	PortNotForwarded PortState = "not-forwarded"       // nothing leads into the box, though the service is up; or the box is off
	PortNotListening PortState = "guest-not-listening" // the service in the box is not up
	PortUnknown      PortState = "unknown"             // it does not answer, and the box could not be asked why
)

// Port is a port of the box on loopback of this machine, as it was just checked.
type Port struct {
	Service string    `json:"service"` // executor or dashboard
	Port    int       `json:"port"`
	State   PortState `json:"state"`
	PID     int       `json:"pid,omitempty"`    // of the program that has taken it, if it can be seen
	Holder  string    `json:"holder,omitempty"` // that program, for people: "pid 812 (python3 -m http.server)"
}

// Problem says what is wrong with a port; "" if nothing is.
func (p Port) Problem() string {
	switch p.State {
	case PortTaken:
		return fmt.Sprintf("port %d of this machine is held by %s, not by the box: %s cannot be reached", p.Port, p.Holder, p.Service)
	case PortNotForwarded:
		return fmt.Sprintf("port %d of this machine does not lead into the box: %s cannot be reached", p.Port, p.Service)
	case PortNotListening:
		return fmt.Sprintf("%s is not up in the box: nothing answers on port %d", p.Service, p.Port)
	case PortUnknown:
		return fmt.Sprintf("%s does not answer on port %d", p.Service, p.Port)
	}
	return ""
}

// PortProblems returns the ports whose problem should be shown: those that another program holds, those of a live box
// that are not forwarded, and those of a running box that nobody listens on.
func (s *Status) PortProblems() (bad []Port) {
	for _, p := range s.Forwards {
		switch {
		case p.State == PortTaken, p.State == PortNotForwarded && s.Live, p.State == PortNotListening && s.Live && s.State == string(limactl.Running):
			bad = append(bad, p)
		}
	}
	return bad
}

// Repair says what to do about the problem of a port of a running box.
func (p Port) Repair() string {
	switch p.State {
	case PortTaken:
		return "stop that program, then: hermes-box restart"
	case PortNotForwarded:
		return "hermes-box restart"
	case PortNotListening:
		return "hermes-box logs " + logName(p.Service)
	case PortUnknown:
		return "hermes-box doctor"
	}
	return ""
}

// logName returns the name of the log of a service. The dashboard is part of Hermes.
func logName(service string) string {
	if service == "dashboard" {
		return "hermes"
	}
	return service
}

// portBound is the longest that a port of a box may take to answer.
const portBound = 3 * time.Second

// portLimit returns the longest that a port may take to answer if the status took that long: a port of a slow box may
// be slow too.
func portLimit(status time.Duration) time.Duration { return max(portBound, 3*status) }

// portAnswer is the state of a port as far as this machine can tell without asking the box.
type portAnswer struct {
	Port
	answered bool
}

// askPorts starts to check all ports at the same time. The function it returns waits for the results, at most until the
// limit after the start.
func (b *Box) askPorts(ctx context.Context) func(limit time.Duration) []portAnswer {
	begun := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	all := []portAnswer{
		{Port: Port{Service: "executor", Port: b.Ports().Executor}},
		{Port: Port{Service: "dashboard", Port: b.Ports().Dashboard}},
	}
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() { all[i].ask(ctx, b) })
	}
	return func(limit time.Duration) []portAnswer {
		timer := time.AfterFunc(time.Until(begun.Add(limit)), cancel)
		asked.Wait()
		timer.Stop()
		cancel()
		return all
	}
}

// ask finds out who listens on the port and, if that may be the box, whether the service answers.
func (a *portAnswer) ask(ctx context.Context, b *Box) {
	listener := limactl.Answering(limactl.Listeners(a.Port.Port), limactl.Loopback)
	if listener != nil && b.foreign(*listener) {
		a.State, a.PID, a.Holder = PortTaken, listener.PID, listener.String()
		return
	}
	url, err := b.URL(a.Service)
	a.answered = err == nil && answers(ctx, url) == nil
}

// foreign reports whether a listener certainly does not belong to the box: it is a process of another user, or one that
// Lima does not run for the box.
func (b *Box) foreign(l limactl.Listener) bool {
	if l.PID == 0 {
		return l.UID >= 0 && l.UID != os.Geteuid()
	}
	return l.Command != "" && !b.Lima.Owns(b.instanceName(), l)
}

// instanceName returns the name of the box's VM, also if there is none.
func (b *Box) instanceName() string {
	if b.Record != nil {
		return b.Record.Instance
	}
	return b.Name()
}

// judgePorts sets the state of each port. guest is the current status of the box, nil if it did not answer; off means
// that its VM does not run.
func (b *Box) judgePorts(ctx context.Context, all []portAnswer, guest *protocol.Status, off bool) (ports []Port) {
	for _, a := range all {
		switch {
		case a.State == PortTaken:
		case off:
			a.State = PortNotForwarded
		case a.answered:
			a.State = PortOK
		case guest == nil:
			a.State = PortUnknown
		default:
			a.State = b.deadPort(ctx, a.Service, guest)
		}
		ports = append(ports, a.Port)
	}
	return ports
}

// deadPort returns the state of a port that does not answer, by asking the box.
func (b *Box) deadPort(ctx context.Context, service string, guest *protocol.Status) PortState {
	if service == "dashboard" { // it is no component: its unit is asked
		ctx, cancel := context.WithTimeout(ctx, portBound)
		defer cancel()
		return unitPort(b.Exec(ctx, ssh.Exec{Args: []string{"systemctl", "is-active", "--quiet", "hermes-dashboard.service"}}))
	}
	for _, c := range guest.Components {
		if c.Name == service && (c.State == protocol.Healthy || c.State == protocol.SetupRequired) {
			return PortNotForwarded
		}
	}
	return PortNotListening
}

// deadForwards says in one line which services of a running box are not forwarded to this machine, and what still
// works; "" if all are. It says nothing about services that are not up.
func deadForwards(ports []Port) string {
	var dead []string
	for _, p := range ports {
		if p.State == PortTaken || p.State == PortNotForwarded {
			dead = append(dead, fmt.Sprintf("%s (port %d)", p.Service, p.Port))
		}
	}
	if len(dead) == 0 {
		return ""
	}
	return "not forwarded to this machine: " + strings.Join(dead, ", ") + "; ssh, exec, logs and login work"
}

// portOf checks one port of a box that should run; the error says what is wrong with it. look returns the status of the
// box, or nil, and is called only for a port that does not answer.
func (b *Box) portOf(ctx context.Context, service string, look func() *protocol.Status) (Port, error) {
	a := portAnswer{Port: Port{Service: service, Port: b.Ports().Executor}}
	if service == "dashboard" {
		a.Port.Port = b.Ports().Dashboard
	}
	limited, cancel := context.WithTimeout(ctx, portBound)
	defer cancel()
	a.ask(limited, b)
	if a.answered {
		a.State = PortOK
		return a.Port, nil
	}
	if a.State == "" {
		a.Port = b.judgePorts(ctx, []portAnswer{a}, look(), false)[0]
	}
	return a.Port, fault.New(fault.HealthFailed, "%s", a.Problem()).Hint("%s", a.Repair()).
		Detail("state", a.State).Detail("pid", a.PID).Detail("holder", a.Holder)
}

// unitPort returns the state of a dead port from the result of systemctl is-active for its unit.
func unitPort(err error) PortState {
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return PortNotForwarded
	case errors.As(err, &exit):
		return PortNotListening
	}
	return PortUnknown
}
