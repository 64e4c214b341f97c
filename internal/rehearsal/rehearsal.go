// Package rehearsal is a stand-in for limactl and ssh over plain directories. It makes no VM: an instance is a
// directory, a host agent that reports events and forwards ports, and a driver process that stands for the machine; a
// command run "inside" runs in a directory of the host. What is in that directory is a Guest's business: without one
// it is plain. What the stand-in does beyond that, it does as Lima 2.1.3 does, above all where that bites. The same
// conformance test runs against it and against the real limactl.
//
// The programs are the running executable under another name: Install links them, and Main, called first thing in
// main or TestMain, becomes them. All state is in the LIMA_HOME, so that any number of processes share it.
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

// Guest is what runs inside a machine.
type Guest interface {
	// Boot runs the machine until ctx ends: it shows its console, calls ready once somebody can log in, and shuts down.
	Boot(ctx context.Context, m Machine, console io.Writer, ready func()) error
	// Login is a command on the machine, or a shell where it is empty, not started and with no streams yet. term is the
	// kind of its terminal, empty without one.
	Login(m Machine, command, term string) *exec.Cmd
}

// Machine is what a guest gets to run on.
type Machine struct {
	Dir    string // stands for the root disk; it goes with the instance
	Memory int64  // bytes
	Disks  []Disk // beside the root disk, in order: vdb, vdc, ...
}

// Disk is a directory that stands for what is on a disk; it stays until the disk is deleted.
type Disk struct {
	Dir  string
	Size int64 // bytes
}

// Socket is where a guest listens for what comes to a port of its loopback.
func (m Machine) Socket(port int) string {
	return filepath.Join(filepath.Dir(m.Dir), strconv.Itoa(port)+".sock")
}

// inside is what this process's instances run, or nil.
var inside Guest

// Install makes links called limactl and ssh to the running executable in dir. What is there of that name already is
// replaced if it is such a link, and an error if it is not.
func Install(dir string) (limactl, ssh string, err error) {
	limactl, ssh = filepath.Join(dir, "limactl"), filepath.Join(dir, "ssh")
	return limactl, ssh, Link(dir, "limactl", "ssh")
}

// Link makes links of these names to the running executable in dir.
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

// Main becomes limactl or ssh, and does not return, if this process was started under one of these names. Its
// instances are plain directories.
func Main() { MainWith(nil) }

// MainWith is Main with a guest in every instance.
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

// GuestDir is the directory that stands for an instance's root disk.
func GuestDir(home, instance string) string { return filepath.Join(home, instance, "guest") }

// asJSON is how the host agent logs, whose stderr is a file.
var asJSON bool

// say prints as logrus does.
func say(level, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if asJSON {
		line, _ := json.Marshal(map[string]string{"level": level, "msg": message, "time": "2026-01-01T00:00:00Z"}) // strings alone: no error
		fmt.Fprintf(os.Stderr, "%s\n", line)
		return
	}
	fmt.Fprintf(os.Stderr, "time=\"2026-01-01T00:00:00Z\" level=%s msg=%q\n", level, message)
}

func fatal(format string, args ...any) int {
	say("fatal", format, args...)
	return 1
}

// flags splits arguments into flags, --a=b and --a b for those named in valued, and the rest.
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
