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
	PID     int        // of a process that has it open; 0 if unknown
	UID     int        // of the user who opened it; -1 if unknown
	Command string     // command line of PID
}

// String returns a text for messages that names the process.
func (l Listener) String() string {
	switch {
	case l.PID != 0:
		return fmt.Sprintf("pid %d (%s)", l.PID, clip(l.Command))
	case l.UID >= 0:
		return fmt.Sprintf("a process of uid %d", l.UID)
	}
	return "another process"
}

// commandOf returns the command line of a process; "" if this user cannot see it.
func commandOf(pid int) string {
	command, _ := commandLine(pid)
	return command
}

// Answering returns the listener that gets connections to an address; nil if there is none. Like the operating system,
// it prefers the most specific address.
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

// Loopback is the address on which the host's side of a port forward listens.
var Loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Owns reports whether a listener is a port forward of an instance: its process is the instance's host agent, or the
// ssh that carries its connections.
func (c *Client) Owns(name string, l Listener) bool { return inside(l.Command, c.Dir(name)) }

// PortFree returns an error if a port of host loopback cannot be bound. It tries to bind the port, because Lima only
// logs a failure to bind it and still reports it as forwarded (lima #3521). The error names the process that holds the
// port, if it is known.
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
	return &Error{Message: message, Do: "stop that program, or choose another port in hermes-box.yaml", Kind: "preflight_failed", Err: ErrInUse}
}
