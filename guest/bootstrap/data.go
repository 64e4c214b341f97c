package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// Mounts finds out which file system is mounted at a path.
type Mounts interface {
	MountedUUID(ctx context.Context, path string) (string, error)
}

// RecordedUUID returns the file system UUID of the data disk that this root belongs to. It is empty until a bootstrap
// has recorded it.
func RecordedUUID(t durable.Tree) (string, error) {
	text, err := os.ReadFile(t.Path(layout.DataUUID))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(text))
	if !uuid().MatchString(id) {
		return "", wrongDisk("%s is damaged: %q is not a UUID", layout.DataUUID, id)
	}
	return id, nil
}

// CheckData fails if the file system mounted at /data is not the one this root belongs to. It also fails if the home or
// the workspace is not the right directory of that file system. Otherwise programs might write their files to the root
// disk, and the files would be lost with it. CheckData needs no privilege.
func CheckData(ctx context.Context, t durable.Tree, m Mounts) error {
	want, err := mounted(ctx, t, m)
	if err != nil {
		return err
	}
	for _, to := range binds {
		if err := checkBind(ctx, t, m, to, want); err != nil {
			return err
		}
	}
	return nil
}

// CheckMounted fails unless the file system mounted at /data is the one this root belongs to. It is for a data disk
// that is still empty, such as before a restore: CheckData fails there.
func CheckMounted(ctx context.Context, t durable.Tree, m Mounts) error {
	_, err := mounted(ctx, t, m)
	return err
}

// mounted returns the UUID of the file system that is mounted at /data and that this root belongs to.
func mounted(ctx context.Context, t durable.Tree, m Mounts) (uuid string, err error) {
	want, err := RecordedUUID(t)
	if err != nil {
		return "", err
	}
	if want == "" {
		return "", &protocol.Error{Code: "preflight_failed", Message: "this machine is not a box yet",
			Hint: "hermes-box create"}
	}
	got, err := m.MountedUUID(ctx, t.Path(protocol.DataDir))
	switch {
	case err != nil:
		return "", err
	case got == "":
		return "", wrongDisk("nothing is mounted at %s; filesystem %s should be", protocol.DataDir, want)
	case got != want:
		return "", wrongDisk("filesystem %s is mounted at %s instead of %s", got, protocol.DataDir, want)
	}
	return want, nil
}

func wrongDisk(format string, args ...any) error {
	return &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf(format, args...),
		Hint: "see what is mounted: hermes-box doctor"}
}

// bind is a directory of the data disk that is mounted at a second path.
type bind struct{ from, at string }

var binds = []bind{{layout.AgentHome, layout.LoginHome}, {layout.AgentHome + "/workspace", layout.Workspace}}

// checkBind fails unless the directory is mounted at its second path.
func checkBind(ctx context.Context, t durable.Tree, m Mounts, b bind, uuid string) error {
	got, err := m.MountedUUID(ctx, t.Path(b.at))
	if err != nil {
		return err
	}
	if got == "" {
		return wrongDisk("nothing is mounted at %s; %s should be", b.at, b.from)
	}
	from, err := os.Stat(t.Path(b.from))
	if err != nil {
		return err
	}
	at, err := os.Stat(t.Path(b.at))
	if err != nil {
		return err
	}
	if got != uuid || !os.SameFile(from, at) {
		return wrongDisk("the directory mounted at %s is not %s", b.at, b.from)
	}
	return nil
}
