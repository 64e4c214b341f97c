package limactl

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// Listener is a socket of this machine that listens on a TCP port.
type Listener struct {
	Addr    netip.Addr // unspecified: all addresses, for :: also those of IPv4
	PID     int        // of a process that has it; 0 where that cannot be seen
	UID     int        // of the user who opened it; -1 where that cannot be seen
	Command string     // command line of PID
}

// String names the process for people.
func (l Listener) String() string {
	switch {
	case l.PID != 0:
		return fmt.Sprintf("pid %d (%s)", l.PID, clip(l.Command))
	case l.UID >= 0:
		return fmt.Sprintf("a process of uid %d", l.UID)
	}
	return "another process"
}

// commandOf is the command line of a process; "" where it cannot be seen.
func commandOf(pid int) string {
	command, _ := commandLine(pid)
	return command
}

// Answering returns the listener that takes connections to an address, the most exact one as the operating system has it;
// nil if none does.
func Answering(all []Listener, to netip.Addr) *Listener {
	var best *Listener
	rank := 0
	for i, l := range all {
		r := 0
		switch {
		case l.Addr == to:
			r = 3
		case l.Addr.IsUnspecified() && l.Addr.Is4() == to.Is4():
			r = 2
		case l.Addr.IsUnspecified() && l.Addr.Is6():
			r = 1
		}
		if r > rank {
			best, rank = &all[i], r
		}
	}
	return best
}

// Loopback is the address that ports of boxes are forwarded to.
var Loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Owns reports whether a listener is a port forward of an instance: its process is the instance's host agent, or the ssh
// that carries its connections.
func (c *Client) Owns(name string, l Listener) bool { return inside(l.Command, c.Dir(name)) }

// PortFree reports whether a port of host loopback can be bound, by binding it. Lima only logs that it could not, and
// says that it forwards all the same (lima #3521). The error names the process that holds it, where it can be found.
func PortFree(port int) error {
	if port < 1 || port > 65535 {
		return &Error{Message: fmt.Sprintf("port %d is out of range", port), Kind: "invalid_input"}
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		return l.Close()
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d: %w", port, err)
	}
	message := fmt.Sprintf("port %d is in use", port)
	if holder := Answering(Listeners(port), Loopback); holder != nil {
		message += " by " + holder.String()
	}
	return &Error{Message: message, Do: "stop that, or choose another port in hermes-box.yaml", Kind: "preflight_failed", Err: ErrInUse}
}
