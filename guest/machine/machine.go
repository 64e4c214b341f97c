// Package machine is what the helper does on the machine it runs in beyond writing files: it runs programs and asks
// systemd, podman, dpkg and services on loopback. The types are here for every platform; the code is for Linux.
package machine

import (
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
	Stdout  io.Writer     // nil: Run returns stdout and stderr; else stdout is copied here and Run returns stderr
	Timeout time.Duration // 0: one minute; negative: no limit but ctx
}

// ExitError is a program that ended with a status other than 0, or that could not be run or was killed (status -1).
type ExitError struct {
	Cmd    string
	Status int
	Output string // the last lines it printed
	Err    error
}

// Unit is the state of a systemd unit.
type Unit struct {
	Active  string    // active, activating, inactive, failed
	Sub     string    // running, exited, auto-restart, ...
	Result  string    // success, exit-code, oom-kill, ...
	Since   time.Time // when it became active; zero if it is not active
	Restart int       // how often systemd has restarted it
	Queued  bool      // systemd has a job waiting for it
}

// Disk is what is on a block device.
type Disk struct {
	Size  int64
	Blank bool   // no partition table, no filesystem or other signature, first and last MiB all zero
	Type  string // filesystem or partition table type of the whole device, if one is recognized
	UUID  string
}

func (e *ExitError) Error() string {
	if e.Status < 0 {
		return fmt.Sprintf("%s: %v", e.Cmd, e.Err)
	}
	return fmt.Sprintf("%s: exit status %d", e.Cmd, e.Status)
}

// Unwrap returns the cause, if the program could not be run.
func (e *ExitError) Unwrap() error { return e.Err }
