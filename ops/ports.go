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

// PortState is the state of a port of this machine that should lead to a service in the box.
type PortState string

// The states of a port.
const (
	PortOK           PortState = "ok"                  // the service in the box answered through it
	PortTaken        PortState = "host-taken"          // another program of this machine listens on it
	PortNotForwarded PortState = "not-forwarded"       // the service is up but not behind this port, or the box is off
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

// Problem describes what is wrong with a port; "" if nothing is.
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
// that are not forwarded while no operation changes it, and those of a running box that nobody listens on.
func (s *Status) PortProblems() (bad []Port) {
	for _, p := range s.Forwards {
		switch {
		case p.State == PortTaken, p.State == PortNotForwarded && s.Live && s.Underway.during() == "", p.State == PortNotListening && s.Live && s.State == string(limactl.Running):
			bad = append(bad, p)
		}
	}
	return bad
}

// Repair returns the repair for the problem of a port of a running box.
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

// portBound is the timeout for the answer of a port.
const portBound = 3 * time.Second

// portLimit returns the timeout for the answer of a port, given how long the status took: the ports of a slow box may
// be slow too.
func portLimit(status time.Duration) time.Duration { return max(portBound, 3*status) }

// portAnswer is the state of a port as this machine sees it, without asking the box.
type portAnswer struct {
	Port
	answered bool
}

// askPorts starts to check all ports at the same time. The function it returns waits for the results until limit has
// passed since the start.
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

// foreign reports whether a listener certainly does not belong to the box: its process belongs to another user, or is
// not run by Lima for the box.
func (b *Box) foreign(l limactl.Listener) bool {
	if l.PID == 0 {
		return l.UID >= 0 && l.UID != os.Geteuid()
	}
	return l.Command != "" && !b.Lima.Owns(b.instanceName(), l)
}

// instanceName returns the name of the box's VM, or the name that it would have.
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
	if service == "dashboard" { // it is no component, so ask for the state of its unit
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

// deadForwards returns a line with the services of a running box that are not forwarded to this machine, and what
// still works; "" if there are none. Services that are not up are not in it.
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

// portOf checks one port of a box that should run. The error describes the problem. status returns the status of the
// box, or nil; portOf calls it only if the port does not answer.
func (b *Box) portOf(ctx context.Context, service string, status func() *protocol.Status) (Port, error) {
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
		a.Port = b.judgePorts(ctx, []portAnswer{a}, status(), false)[0]
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
