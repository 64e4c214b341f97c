package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
)

// PortState is how a port of the box stands on this machine.
type PortState string

// The states of a port.
const (
	PortOK           PortState = "ok"                  // the service in the box answered through it
	PortTaken        PortState = "host-taken"          // another program of this machine listens on it
	PortNotForwarded PortState = "not-forwarded"       // it leads nowhere, though the service is up; or the box is off
	PortNotListening PortState = "guest-not-listening" // the service in the box is not up
	PortUnknown      PortState = "unknown"             // it does not answer, and the box could not be asked why
)

// Port is a port of the box, as it was just found on loopback of this machine.
type Port struct {
	Service string    `json:"service"` // executor or dashboard
	Port    int       `json:"port"`
	State   PortState `json:"state"`
	PID     int       `json:"pid,omitempty"`    // of the program that has taken it, where it can be seen
	Holder  string    `json:"holder,omitempty"` // that program, for people: "pid 812 (python3 -m http.server)"
}

// Problem says what is wrong with a port, for people; "" where nothing is.
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

// Repair is what to do about the problem of a port of a box that runs.
func (p Port) Repair() string {
	switch p.State {
	case PortTaken:
		return "stop that program, then hermes-box stop and hermes-box start"
	case PortNotForwarded:
		return "hermes-box stop, then hermes-box start"
	case PortNotListening:
		return "hermes-box logs " + logName(p.Service)
	case PortUnknown:
		return "hermes-box doctor"
	}
	return ""
}

// logName is the log of a service: Hermes writes that of its dashboard.
func logName(service string) string {
	if service == "dashboard" {
		return "hermes"
	}
	return service
}

// portBound is the most that a port may take to answer.
const portBound = 3 * time.Second

// portAnswer is what was seen of a port from this machine alone.
type portAnswer struct {
	Port
	answered bool
}

// askPorts asks all ports at the same time, and returns at once. The function it returns waits for the answers.
func (b *Box) askPorts(ctx context.Context) func() []portAnswer {
	all := []portAnswer{
		{Port: Port{Service: "executor", Port: b.Ports().Executor}},
		{Port: Port{Service: "dashboard", Port: b.Ports().Dashboard}},
	}
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() { all[i].ask(ctx, b) })
	}
	return func() []portAnswer {
		asked.Wait()
		return all
	}
}

// ask looks who listens on the port, and whether the service answers where that is the box.
func (a *portAnswer) ask(ctx context.Context, b *Box) {
	listener := limactl.Answering(limactl.Listeners(a.Port.Port), limactl.Loopback)
	if listener != nil && b.foreign(*listener) {
		a.State, a.PID, a.Holder = PortTaken, listener.PID, listener.String()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, portBound)
	defer cancel()
	url, err := b.URL(a.Service)
	a.answered = err == nil && answers(ctx, url) == nil
}

// foreign tells whether a listener is certainly not of the box. What runs as this user is looked at; what cannot be seen
// belongs to another one.
func (b *Box) foreign(l limactl.Listener) bool {
	if l.PID == 0 {
		return l.UID >= 0 && l.UID != os.Geteuid()
	}
	return l.Command != "" && !b.Lima.Owns(b.instanceName(), l)
}

// instanceName is the name of the box's VM, also where there is none.
func (b *Box) instanceName() string {
	if b.Record != nil {
		return b.Record.Instance
	}
	return b.Name()
}

// judgePorts says how each port stands, by what was seen of it and by what is known of the box: guest is its status of
// now, nil where it did not answer; off says that its VM does not run.
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

// deadPort asks the box why a port does not answer.
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

// portOf asks one port of a box that should run. The error is what is wrong with it; look is asked for the status of the
// box only then, and may return nil.
func (b *Box) portOf(ctx context.Context, service string, look func() *protocol.Status) (Port, error) {
	a := portAnswer{Port: Port{Service: service, Port: b.Ports().Executor}}
	if service == "dashboard" {
		a.Port.Port = b.Ports().Dashboard
	}
	a.ask(ctx, b)
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

// unitPort is how a port stands whose service is a unit, by the end of systemctl is-active.
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
