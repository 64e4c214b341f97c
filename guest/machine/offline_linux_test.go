package machine

import (
	"net"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Offline leaves only the routes to directly connected networks, over which the host is reached. A default route that
// DHCP adds later has no effect.
func TestOffline(t *testing.T) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the test, and its network with it
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("NOT CHECKED: no network namespace:", err)
	}
	ip := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Skipf("NOT CHECKED: ip %v: %v %s", args, err, out)
		}
	}
	ip("link", "set", "lo", "up")
	ip("addr", "add", "192.168.5.15/24", "dev", "lo")
	ip("route", "add", "default", "dev", "lo", "metric", "100")
	reachable := func(address string) bool {
		c, err := net.Dial("udp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	if !reachable("203.0.113.1:9") {
		t.Fatal("there is no route before Offline")
	}
	m := &Machine{}
	for range 2 { // it can be done again
		if err := m.Offline(t.Context()); err != nil {
			t.Fatal(err)
		}
		if reachable("203.0.113.1:9") {
			t.Error("there is still a route")
		}
		if !reachable("192.168.5.2:22") {
			t.Error("the host is not reachable")
		}
		ip("route", "replace", "default", "dev", "lo", "metric", "100")
	}
}
