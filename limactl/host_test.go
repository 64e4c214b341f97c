package limactl

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Trap 11.
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
			t.Errorf("%s, %d bytes: taken", goos, len(fits)+1+fixed)
			continue
		}
		if !strings.Contains(err.(*Error).Do, "1 bytes shorter") {
			t.Errorf("hint %q", err.(*Error).Do)
		}
	}
	// Links count as what they lead to, also where the end of the path is not made yet.
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
		t.Error("a short link to a long path was taken")
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
	// One that listens on every address holds it too.
	if l, err = net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", port)); err != nil {
		t.Skip("the port was taken meanwhile")
	}
	defer l.Close()
	if err := PortFree(port); !errors.Is(err, ErrInUse) {
		t.Errorf("held on 0.0.0.0: %v", err)
	}
	for _, port := range []int{0, -1, 65536} {
		if err := PortFree(port); err == nil {
			t.Errorf("port %d was taken", port)
		}
	}
}

func TestWhoAmI(t *testing.T) {
	for _, tt := range []struct {
		goos        string
		euid, owner int
		change, bad bool
	}{
		{"linux", 1000, 1000, false, false},
		{"linux", 1000, 0, false, false},
		{"linux", 0, 1000, true, false},
		{"linux", 0, 0, false, true},
		{"darwin", 0, 0, false, false},
		{"darwin", 0, 501, false, false},
	} {
		change, err := whoAmI(tt.goos, tt.euid, tt.owner, "/srv/.hermes-box")
		if change != tt.change || (err != nil) != tt.bad {
			t.Errorf("%+v: got %v, %v", tt, change, err)
		}
		if err != nil {
			if !errors.Is(err, ErrRoot) || !strings.Contains(err.(*Error).Do, "HERMES_BOX_HOME") {
				t.Errorf("%v, hint %q", err, err.(*Error).Do)
			}
		}
	}
}

// The user whom the hint has root make is the one whom the program then looks for.
func TestRootHint(t *testing.T) {
	if hint := rootHint(false); !strings.HasPrefix(hint, "useradd --create-home hermes-box; unset HERMES_BOX_HOME") {
		t.Error(hint)
	}
	if hint := rootHint(true); !strings.HasPrefix(hint, "unset HERMES_BOX_HOME") {
		t.Error(hint)
	}
	if !isUser("root") || isUser("no-such-user") {
		t.Error("users are not told from others")
	}
}

func TestOwnerOf(t *testing.T) {
	dir := t.TempDir()
	got, uid, err := ownerOf(filepath.Join(dir, "not", "yet", "there"))
	if err != nil || got != dir || uid != os.Getuid() {
		t.Errorf("got %s, %d, %v", got, uid, err)
	}
}

func TestLookup(t *testing.T) {
	who, err := lookup(os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	if who.uid != os.Getuid() || who.gid != os.Getgid() || who.name == "" || who.home == "" || !slices.Contains(who.groups, who.gid) {
		t.Errorf("got %+v", who)
	}
	if _, err := lookup(987654); err == nil {
		t.Error("a user that does not exist was found")
	}
}

func TestEnvironmentOfAnotherUser(t *testing.T) {
	who := identity{name: "hermes", home: "/home/hermes"}
	got := who.environment([]string{"HOME=/root", "PATH=/bin", "USER=root", "SSH_AUTH_SOCK=/x", "XDG_RUNTIME_DIR=/run/user/0", "HERMES_BOX_HOME=/b", "LOGNAME=root"})
	want := []string{"PATH=/bin", "HERMES_BOX_HOME=/b", "HOME=/home/hermes", "USER=hermes", "LOGNAME=hermes"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
