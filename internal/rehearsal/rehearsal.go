// Package rehearsal is a stand-in for limactl and ssh that works on plain directories. It makes no VM: an instance is a
// directory, a host agent that reports events and forwards ports, and a driver process in place of the VM. A command
// that is run "inside" runs in a directory of the host. A Guest fills that directory; without a Guest it is empty. In
// all other respects the stand-in imitates Lima 2.1.3, including its bugs. The same conformance test runs against the
// stand-in and the real limactl.
//
// The programs are the running executable under another name: Install links them, and Main, called first in main or
// TestMain, runs them. All state is in the LIMA_HOME, so that any number of processes can share it.
package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Guest is the software of a machine.
type Guest interface {
	// Boot runs the machine until ctx ends or the machine reboots itself. It writes to the console, calls ready when
	// logins are possible, and shuts down. again reports that the machine reboots.
	Boot(ctx context.Context, m Machine, console io.Writer, ready func()) (again bool, err error)
	// Login returns a command on the machine, or a shell if command is empty. It is not started and has no streams
	// yet. term is the type of its terminal, empty if it has none.
	Login(m Machine, command, term string) *exec.Cmd
}

// Machine is the hardware of a guest.
type Machine struct {
	Dir    string // the root disk; it is deleted with the instance
	Memory int64  // bytes
	Disks  []Disk // besides the root disk, in order: vdb, vdc, ...
}

// Disk is a directory with the content of a disk. It exists until the disk is deleted.
type Disk struct {
	Dir  string
	Size int64 // bytes
}

// Socket returns the path of the socket on which a guest listens instead of a port of its loopback.
func (m Machine) Socket(port int) string {
	return filepath.Join(filepath.Dir(m.Dir), strconv.Itoa(port)+".sock")
}

// inside is the guest in the instances of this process; nil if they have none.
var inside Guest

// Install links limactl and ssh in dir to the running executable. It replaces other links of these names; any other
// file is an error.
func Install(dir string) (limactl, ssh string, err error) {
	limactl, ssh = filepath.Join(dir, "limactl"), filepath.Join(dir, "ssh")
	return limactl, ssh, Link(dir, "limactl", "ssh")
}

// Link links these names in dir to the running executable.
func Link(dir string, names ...string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range names {
		link := filepath.Join(dir, name)
		if at, err := os.Readlink(link); err == nil {
			if at == exe {
				continue
			}
			if err := os.Remove(link); err != nil {
				return err
			}
		}
		if err := os.Symlink(exe, link); err != nil {
			return err
		}
	}
	return nil
}

// Main returns at once, unless this process was started under the name limactl or ssh. Then it runs that program and
// exits. Its instances are plain directories.
func Main() { MainWith(nil) }

// MainWith is like Main, with a guest in every instance.
func MainWith(guest Guest) {
	var run func(home string, args []string) int
	switch filepath.Base(os.Args[0]) {
	case "limactl":
		run = limactl
	case "ssh":
		run = ssh
	default:
		return
	}
	inside = guest
	os.Exit(run(os.Getenv("LIMA_HOME"), os.Args[1:]))
}

// GuestDir returns the directory with the content of an instance's root disk.
func GuestDir(home, instance string) string { return filepath.Join(home, instance, "guest") }

// asJSON selects JSON for log lines, as the host agent uses.
var asJSON bool

// say logs a line in the format of logrus.
func say(level, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if asJSON {
		line, _ := json.Marshal(map[string]string{"level": level, "msg": message, "time": "2026-01-01T00:00:00Z"}) // cannot fail: all values are strings
		fmt.Fprintf(os.Stderr, "%s\n", line)
		return
	}
	fmt.Fprintf(os.Stderr, "time=\"2026-01-01T00:00:00Z\" level=%s msg=%q\n", level, message)
}

func fatal(format string, args ...any) int {
	say("fatal", format, args...)
	return 1
}

// flags splits arguments into flags and the rest. A flag is --a=b, or --a b if it is named in valued.
func flags(args []string, valued ...string) (map[string]string, []string) {
	set, rest := map[string]string{}, []string{}
	for i := 0; i < len(args); i++ {
		name, value, ok := strings.Cut(args[i], "=")
		switch {
		case !strings.HasPrefix(name, "-") || name == "-":
			rest = append(rest, args[i])
			continue
		case ok:
		case slices.Contains(valued, strings.TrimLeft(name, "-")) && i+1 < len(args):
			i++
			value = args[i]
		default:
			value = "true"
		}
		set[strings.TrimLeft(name, "-")] = value
	}
	return set, rest
}
