package guest

import (
	"context"
	"io"
	"time"
)

// System is every effect on the machine that is not a file below Guest.Root. machine is the real one; the one of
// package simulate is for tests and the rehearsal machine. Paths given to it are real paths (Guest.Path has been applied).
type System interface {
	// Run runs one program to its end and returns what it printed on stdout and stderr together. A status
	// other than 0 is an *ExitError. Cmd.Timeout bounds it; the process and its children are reaped.
	Run(ctx context.Context, c Cmd) ([]byte, error)

	// ReloadUnits makes systemd read its unit files again.
	ReloadUnits(ctx context.Context) error
	EnableUnit(ctx context.Context, unit string) error // at the next boot; systemd learns of it by ReloadUnits
	StartUnit(ctx context.Context, unit string) error  // waits for the job; a failed start is an error
	StopUnit(ctx context.Context, unit string) error
	RestartUnit(ctx context.Context, unit string) error
	// Units tells the state of each unit in one call; an unknown unit is "inactive".
	Units(ctx context.Context, units ...string) (map[string]Unit, error)

	// LoadImage loads an OCI layout directory into podman without any pull and tags it; it fails unless
	// the loaded image has the manifest digest given.
	LoadImage(ctx context.Context, layout, digest, tag string) error
	// HasImage tells whether a tag is loaded.
	HasImage(ctx context.Context, tag string) (bool, error)
	RemoveImage(ctx context.Context, tag string) error

	// Disk looks at a block device; it never guesses: what cannot be read is an error.
	Disk(ctx context.Context, device string) (Disk, error)
	// Format makes an ext4 filesystem with the UUID given. The caller has proved the device blank.
	Format(ctx context.Context, device, uuid, label string) error
	// MountedUUID is the filesystem UUID mounted exactly at path; empty if nothing is.
	MountedUUID(ctx context.Context, path string) (string, error)
	// Mount mounts what /etc/fstab says of path.
	Mount(ctx context.Context, path string) error
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

// Cmd is one program to run.
type Cmd struct {
	Path    string
	Args    []string // without the program itself
	Dir     string
	Env     []string // the whole environment; nil: PATH, HOME and LANG alone
	User    string   // run as this user; empty: as we are
	Stdin   io.Reader
	Stdout  io.Writer     // nil: what is printed is returned; else stdout goes here as it comes, stderr is returned
	Timeout time.Duration // 0: one minute; negative: only ctx ends it
}

// ExitError is a program that ended with a status other than 0, or that could not be run (status -1).
type ExitError struct {
	Cmd    string
	Status int
	Output string // its last lines
	Err    error
}

// Unit is what systemd says of a unit.
type Unit struct {
	Active  string    // active, activating, inactive, failed
	Sub     string    // running, exited, auto-restart, ...
	Result  string    // success, exit-code, oom-kill, ...
	Since   time.Time // when it became active; zero if it is not
	Restart int       // how often systemd has restarted it
	Queued  bool      // systemd has a job for it that it has not done yet
}

// Disk is what is on a block device.
type Disk struct {
	Size  int64
	Blank bool   // no partition table, no filesystem or other signature, first and last MiB all zero
	Type  string // filesystem or partition table type of the whole device, if one is recognized
	UUID  string
}
