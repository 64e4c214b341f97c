//go:build !linux

package limactl

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Listeners returns the sockets that listen on a TCP port and that lsof shows: not those of other users.
func Listeners(port int) (all []Listener) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "lsof", "-nP", fmt.Sprintf("-iTCP:%d", port), "-sTCP:LISTEN", "-Fputn").Output()
	pid, uid, ipv6 := 0, -1, false
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		switch value := line[1:]; line[0] {
		case 'p':
			pid, _ = strconv.Atoi(value)
		case 'u':
			uid, _ = strconv.Atoi(value)
		case 't':
			ipv6 = value == "IPv6"
		case 'n':
			all = append(all, Listener{Addr: lsofAddr(value, ipv6), PID: pid, UID: uid, Command: commandOf(pid)})
		}
	}
	return all
}

// lsofAddr returns the address in "127.0.0.1:4788", "[::1]:4788" or "*:4788".
func lsofAddr(name string, ipv6 bool) netip.Addr {
	if strings.HasPrefix(name, "*:") {
		if ipv6 {
			return netip.IPv6Unspecified()
		}
		return netip.IPv4Unspecified()
	}
	at, _ := netip.ParseAddrPort(name)
	return at.Addr().Unmap()
}
