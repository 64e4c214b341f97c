package limactl

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// CheckHome refuses a LIMA_HOME in which the paths of sockets are too long.
func TestCheckHome(t *testing.T) {
	const name = "main"
	fixed := len("/" + name + "/" + longestSocket)
	for goos, limit := range map[string]int{"darwin": 104, "linux": 108} {
		fits := "/" + strings.Repeat("x", limit-1-fixed-1)
		if err := checkHome(goos, fits, name); err != nil {
			t.Errorf("%s, %d bytes: %v", goos, len(fits)+fixed, err)
		}
		err := checkHome(goos, fits+"x", name)
		if err == nil {
			t.Errorf("%s, %d bytes: accepted", goos, len(fits)+1+fixed)
			continue
		}
		if !strings.Contains(err.(*Error).Do, "1 bytes shorter") {
			t.Errorf("hint %q", err.(*Error).Do)
		}
	}
	// Links are resolved even if the end of the path does not exist yet.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(dir, strings.Repeat("y", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "s")
	if err := os.Symlink(long, short); err != nil {
		t.Fatal(err)
	}
	if err := checkHome("linux", filepath.Join(short, "lima"), name); err == nil {
		t.Error("a short link to a long path was accepted")
	}
}

func TestPortFree(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	err = PortFree(port)
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("in use: %v", err)
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("port %d is in use by pid %d", port, os.Getpid())) {
		t.Errorf("the holder is not named: %v", err)
	}
	l.Close()
	if err := PortFree(port); err != nil {
		t.Errorf("free: %v", err)
	}
	// A listener on all addresses holds the port too.
	if l, err = net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", port)); err != nil {
		t.Skip("another program took the port")
	}
	defer l.Close()
	if err := PortFree(port); !errors.Is(err, ErrInUse) {
		t.Errorf("held on 0.0.0.0: %v", err)
	}
	for _, port := range []int{0, -1, 65536} {
		if err := PortFree(port); err == nil {
			t.Errorf("port %d was accepted", port)
		}
	}
}

// Listeners finds all listeners on a port with their process and user, and Answering returns the one that gets the
// connections to an address.
func TestListeners(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	other, err := net.Listen("tcp6", fmt.Sprintf("[::]:%d", port)) // IPv6 only
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	defer other.Close()
	for range 2 { // the second time the owners come from the cache
		all := Listeners(port)
		if len(all) != 2 {
			t.Fatalf("%+v", all)
		}
		for _, c := range []struct {
			to   string
			want netip.Addr
		}{{"127.0.0.1", Loopback}, {"::1", netip.IPv6Unspecified()}, {"2001:db8::1", netip.IPv6Unspecified()}} {
			got := Answering(all, netip.MustParseAddr(c.to))
			if got == nil || got.Addr != c.want || got.PID != os.Getpid() || got.UID != os.Geteuid() || got.Command == "" {
				t.Errorf("%s: %+v", c.to, got)
			}
		}
	}
	if got := Answering([]Listener{{Addr: Loopback}}, netip.MustParseAddr("10.0.0.1")); got != nil {
		t.Errorf("10.0.0.1: %+v", got)
	}
	if got := Answering([]Listener{{Addr: netip.IPv6Unspecified()}, {Addr: netip.IPv4Unspecified()}}, Loopback); got == nil || !got.Addr.Is4() {
		t.Errorf("loopback: %+v", got)
	}
	// A listener on [::] gets connections over IPv4 too, if nothing else listens there.
	if got := Answering([]Listener{{Addr: netip.IPv6Unspecified()}}, Loopback); got == nil || got.Addr != netip.IPv6Unspecified() {
		t.Errorf("loopback, a listener on [::]: %+v", got)
	}
}
