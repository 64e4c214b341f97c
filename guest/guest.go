// Package guest is the transaction engine that runs inside the VM. It installs, proves, activates and rolls
// back releases, makes a fresh root into a box, and tells what runs. It knows nothing of the host beyond
// package protocol.
//
// Every effect outside the files below Guest.Root goes through Machine, so that the whole engine runs in tests,
// and on the rehearsal machine, against a plain directory.
package guest

import (
	"context"
	"path/filepath"
	"time"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// Guest is one machine: where its files are and how it is acted upon.
type Guest struct {
	Root    string               // "/", or a directory that stands for it
	Machine Machine              // everything that is not a file
	Emit    func(protocol.Event) // may be nil; called from several goroutines
	Now     func() time.Time     // nil: time.Now
	Helper  string               // file of the helper that speaks for this guest; empty: the running executable

	// After is called after each durable step of the engine (a file renamed into place, a link swapped, a
	// unit restarted) with its name; nil in production. A crash test ends the run there, by not returning.
	After func(step string)
}

// Path is where an absolute path of the guest is found.
func (g *Guest) Path(elem ...string) string {
	return filepath.Join(append([]string{g.Root}, elem...)...)
}

func (g *Guest) emit(e protocol.Event) {
	if g.Emit != nil {
		g.Emit(e)
	}
}

func (g *Guest) did(step string) {
	if g.After != nil {
		g.After(step)
	}
}

func (g *Guest) now() time.Time {
	if g.Now != nil {
		return g.Now().UTC()
	}
	return time.Now().UTC()
}

// Machine is every effect on the machine that is not a file below Guest.Root. machine is the real one; the one of
// package simulate is for tests and the rehearsal machine. Paths given to it are real paths (Guest.Path has been applied).
type Machine interface {
	// Run runs one program to its end and returns what it printed on stdout and stderr together. A status
	// other than 0 is an *machine.ExitError. Cmd.Timeout bounds it; the process and its children are reaped.
	Run(ctx context.Context, c machine.Cmd) ([]byte, error)

	// ReloadUnits makes systemd read its unit files again.
	ReloadUnits(ctx context.Context) error
	EnableUnit(ctx context.Context, unit string) error // at the next boot; systemd learns of it by ReloadUnits
	StartUnit(ctx context.Context, unit string) error  // waits for the job; a failed start is an error
	StopUnit(ctx context.Context, unit string) error
	RestartUnit(ctx context.Context, unit string) error
	// Units tells the state of each unit in one call; an unknown unit is "inactive".
	Units(ctx context.Context, units ...string) (map[string]machine.Unit, error)

	// LoadImage loads an OCI layout directory into podman without any pull and tags it; it fails unless
	// the loaded image has the manifest digest given.
	LoadImage(ctx context.Context, layout, digest, tag string) error
	// HasImage tells whether a tag is loaded.
	HasImage(ctx context.Context, tag string) (bool, error)
	RemoveImage(ctx context.Context, tag string) error

	// Disk looks at a block device; it never guesses: what cannot be read is an error.
	Disk(ctx context.Context, device string) (machine.Disk, error)
	// Format makes an ext4 filesystem with the UUID given. The caller has proved the device blank.
	Format(ctx context.Context, device, uuid, label string) error
	// MountedUUID is the filesystem UUID mounted exactly at path; empty if nothing is.
	MountedUUID(ctx context.Context, path string) (string, error)
	// Mount mounts what /etc/fstab says of path.
	Mount(ctx context.Context, path string) error
	// Usage counts the bytes of the filesystem at path; zero where it cannot be read.
	Usage(path string) protocol.Usage
	// KernelLog returns the kernel's log, as dmesg prints it; nothing if it may not be read.
	KernelLog() string
	Sync(ctx context.Context) error

	// EnsureUser makes a user and group of that id with bash and passwordless sudo, or checks it is so.
	EnsureUser(ctx context.Context, name string, id int, home string) error
	// Chown sets the owner of one path, not following links.
	Chown(path string, uid, gid int) error
	// InstallPackages installs OS package archives, without asking any repository.
	InstallPackages(ctx context.Context, archives []string) error
	// PackageVersion is the installed version of an OS package; empty if it is not.
	PackageVersion(ctx context.Context, name string) (string, error)

	// Get asks a service on loopback; the body is cut at 1 MiB.
	Get(ctx context.Context, url string, header map[string]string) (status int, body []byte, err error)
	// Post sends a body to a service on loopback; redirects are not followed and the answer is cut at 1 MiB.
	Post(ctx context.Context, url string, header map[string]string, body []byte) (status int, answer []byte, err error)
}
