// Package rehearsal is a stand-in for limactl and ssh over plain directories. It makes no VM: an instance is a
// directory, a host agent that reports events, and a driver process that stands for the machine; a command run
// "inside" runs in a directory of the host. What it does beyond that, it does as Lima 2.1.3 does, above all where
// that bites. The same conformance test runs against it and against the real limactl.
//
// The programs are the running executable under another name: Install links them, and Main, called first thing in
// main or TestMain, becomes them. All state is in the LIMA_HOME, so that any number of processes share it.
package rehearsal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Fault is something that goes wrong, switched on in a LIMA_HOME until it is switched off.
type Fault string

// The faults.
const (
	CreateFails Fault = "create-fails" // half way: a directory without lima.yaml is left
	StartFails  Fault = "start-fails"  // the driver ends at once
	HoldAgent   Fault = "hold-agent"   // the host agent is there and its driver is not yet: Lima says Broken
	HoldBoot    Fault = "hold-boot"    // the guest boots until this is switched off
	Degraded    Fault = "degraded"     // the guest comes up with errors
	HoldStop    Fault = "hold-stop"    // the host agent does not react to being asked to stop
	ListNoise   Fault = "list-noise"   // a line that is no JSON is among the output
	ListHangs   Fault = "list-hangs"
	RefuseRoot  Fault = "refuse-root"  // as limactl does when it is run as root
	StaleMaster Fault = "stale-master" // what uses the shared ssh connection hangs, until that is told to stop
	ConnectLost Fault = "connect-lost" // ssh ends with 255 half a second into a command
	LoginNoise  Fault = "login-noise"  // a login script prints on both streams
)

// Install makes links called limactl and ssh to the running executable in dir.
func Install(dir string) (limactl, ssh string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	limactl, ssh = filepath.Join(dir, "limactl"), filepath.Join(dir, "ssh")
	for _, link := range []string{limactl, ssh} {
		if err := os.Symlink(exe, link); err != nil {
			return "", "", err
		}
	}
	return limactl, ssh, nil
}

// Main becomes limactl or ssh, and does not return, if this process was started under one of these names.
func Main() {
	var run func(home string, args []string) int
	switch filepath.Base(os.Args[0]) {
	case "limactl":
		run = limactl
	case "ssh":
		run = ssh
	default:
		return
	}
	os.Exit(run(os.Getenv("LIMA_HOME"), os.Args[1:]))
}

func faultDir(home string) string { return filepath.Join(home, "_rehearsal") }

// Inject switches faults on.
func Inject(home string, faults ...Fault) error {
	if err := os.MkdirAll(faultDir(home), 0o700); err != nil {
		return err
	}
	for _, f := range faults {
		if err := os.WriteFile(filepath.Join(faultDir(home), string(f)), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Heal switches faults off.
func Heal(home string, faults ...Fault) error {
	for _, f := range faults {
		if err := os.Remove(filepath.Join(faultDir(home), string(f))); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func has(home string, f Fault) bool {
	_, err := os.Stat(filepath.Join(faultDir(home), string(f)))
	return err == nil
}

// GuestDir is what a command run inside an instance sees as its home.
func GuestDir(home, instance string) string { return filepath.Join(home, instance, "guest") }

// say prints as logrus does.
func say(level, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "time=\"2026-01-01T00:00:00Z\" level=%s msg=%q\n", level, fmt.Sprintf(format, args...))
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
