package runas

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMustChange(t *testing.T) {
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
		change, err := mustChange(tt.goos, tt.euid, tt.owner, "/srv/.hermes-box")
		if change != tt.change || (err != nil) != tt.bad {
			t.Errorf("%+v: got %v, %v", tt, change, err)
		}
		if err != nil {
			if !strings.Contains(err.(*Error).hint, "HERMES_BOX_HOME") {
				t.Errorf("%v, hint %q", err, err.(*Error).hint)
			}
		}
	}
}

// The hint for root creates the service user, unless that user exists.
func TestRootHint(t *testing.T) {
	if hint := rootHint(false); !strings.HasPrefix(hint, "useradd --create-home hermes-box; unset HERMES_BOX_HOME") {
		t.Error(hint)
	}
	if hint := rootHint(true); !strings.HasPrefix(hint, "unset HERMES_BOX_HOME") {
		t.Error(hint)
	}
	if !isUser("root") || isUser("no-such-user") {
		t.Error("isUser is wrong")
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
