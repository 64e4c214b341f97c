package limactl

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// PortFree tells whether a port of host loopback can be bound, by binding it. Lima only logs that it could not, and
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
	if holder := portHolder(port); holder != "" {
		message += " by " + holder
	}
	return &Error{Message: message, Do: "stop that, or choose another port in hermes-box.yaml", Kind: "preflight_failed", Err: ErrInUse}
}
