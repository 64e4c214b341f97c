package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// Offline cuts this machine and its containers off from every network but those that it is directly connected to, until
// it is booted again. The host stays reachable, since it is on such a network. Open connections to other networks can
// send nothing more.
func (m *Machine) Offline(ctx context.Context) error {
	// The lowest metric wins, also over a default route that DHCP adds later.
	routes := [][]string{{"-4", "route", "replace", "unreachable", "default", "metric", "0"}}
	probes := map[string]string{"udp4": "192.0.2.1:9"} // addresses for documentation: nobody has them
	if _, err := os.Stat("/proc/net/if_inet6"); err == nil {
		routes = append(routes, []string{"-6", "route", "replace", "unreachable", "default", "metric", "1"})
		probes["udp6"] = "[2001:db8::1]:9"
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, args := range routes {
		if _, err := m.Run(ctx, Cmd{Path: "ip", Args: args}); err != nil {
			return fmt.Errorf("cut the network off: %w", err)
		}
	}
	for network, address := range probes {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address) // sends nothing, but needs a route
		if err == nil {
			c.Close()
			return fmt.Errorf("cut the network off: there is still a route to %s", address)
		}
	}
	return ctx.Err()
}
