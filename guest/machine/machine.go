// Package machine has the actions of the helper on its machine, such as running programs, mounting, and asking systemd,
// podman, dpkg and services on loopback. This file and Memory are for every platform, the rest is for Linux.
package machine

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Cmd is one program to run.
type Cmd struct {
	Path    string
	Args    []string // without the program itself
	Dir     string
	Env     []string // the whole environment; nil: PATH, HOME and LANG alone
	User    string   // run as this user; empty: as the helper's own user
	Stdin   io.Reader
	Stdout  io.Writer     // if set, stdout is copied here and Run returns only stderr
	Timeout time.Duration // 0: one minute; negative: no limit but ctx
}

// ExitError is the error for a program that ended with a status other than 0, or that could not be run or was killed
// (status -1).
type ExitError struct {
	Cmd    string
	Status int
	Output string // the last lines it printed
	Err    error
}

// Unit is the state of a systemd unit.
type Unit struct {
	Active  string    // active, activating, inactive, failed, ...
	Sub     string    // running, exited, auto-restart, ...
	Result  string    // success, exit-code, oom-kill, ...; only for a service that is not active
	Since   time.Time // when it became active; zero if it is not active
	Restart int       // how often systemd has restarted it
	Queued  bool      // systemd has a job waiting for it
}

// Disk describes the content of a block device.
type Disk struct {
	Size  int64
	Blank bool   // no partition table, no file system or other signature, first and last MiB all zero
	Type  string // file system or partition table, or "unknown signature"; empty if nothing is recognized
	UUID  string
}

// Snapshot is a file system as it was at one moment.
type Snapshot struct {
	Root   string        // the path to read it at, for this process and until End
	Frozen time.Duration // for how long programs could not write, at most
	// Full reports whether programs have written more than the snapshot has room for. What was read may then be wrong.
	Full func(context.Context) (bool, error)
	End  func() error // removes it
}

func (e *ExitError) Error() string {
	if e.Status < 0 {
		return fmt.Sprintf("%s: %v", e.Cmd, e.Err)
	}
	return fmt.Sprintf("%s: exit status %d", e.Cmd, e.Status)
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }
