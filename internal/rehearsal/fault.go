package rehearsal

import (
	"os"
	"path/filepath"
	"time"
)

// Fault is something that goes wrong, switched on in a LIMA_HOME until it is switched off. A Guest may have more of
// its own.
type Fault string

// The faults.
const (
	CreateFails       Fault = "create-fails"        // half way: a directory without lima.yaml is left
	StartFails        Fault = "start-fails"         // the driver ends at once
	HoldAgent         Fault = "hold-agent"          // the host agent is there and its driver is not yet: Lima says Broken
	HoldBoot          Fault = "hold-boot"           // the guest boots until this is switched off
	Degraded          Fault = "degraded"            // the guest comes up with errors
	HoldStop          Fault = "hold-stop"           // the host agent does not react to being asked to stop
	AgentSlow         Fault = "agent-slow"          // the host agent takes half a second to note its pid
	AgentStays        Fault = "agent-stays"         // the host agent stays, and holds its ports, when its VM has died
	Broken            Fault = "broken"              // the host agent does not answer, though all runs
	PIDReused         Fault = "pid-reused"          // once: the pid file of an instance that is off names another process, as after a reboot
	StaleLock         Fault = "stale-lock"          // an instance that is gone still holds the data disk
	DiskDeleteSkipped Fault = "disk-delete-skipped" // disk delete warns, deletes nothing and ends with 0
	ListNoise         Fault = "list-noise"          // a line that is no JSON is among the output
	ListHangs         Fault = "list-hangs"
	StrayDirectory    Fault = "stray-directory" // LIMA_HOME seems to hold a directory without lima.yaml: a list of all fails whole
	RefuseRoot        Fault = "refuse-root"     // as limactl does when it is run as root
	SSHRefused        Fault = "ssh-refused"     // the guest runs and lets nobody in
	StaleMaster       Fault = "stale-master"    // what uses the shared ssh connection hangs, until that is told to stop
	ConnectLost       Fault = "connect-lost"    // ssh ends with 255 half a second into a command
	LoginNoise        Fault = "login-noise"     // a login script prints on both streams
	ForwardDead       Fault = "forward-dead"    // no port is forwarded any more, as after sleep
	PortConflict      Fault = "port-conflict"   // a port of the host cannot be opened, and Lima says that it forwards
)

// Faults are all of them.
var Faults = []Fault{CreateFails, StartFails, HoldAgent, HoldBoot, Degraded, HoldStop, AgentSlow, AgentStays, Broken, PIDReused, StaleLock, DiskDeleteSkipped,
	ListNoise, ListHangs, RefuseRoot, SSHRefused, StaleMaster, ConnectLost, LoginNoise, ForwardDead, StrayDirectory, PortConflict}

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

// Has tells whether a fault is switched on.
func Has(home string, f Fault) bool { return has(home, f) }

func has(home string, f Fault) bool {
	_, err := os.Stat(filepath.Join(faultDir(home), string(f)))
	return err == nil
}

func wait(home string, f Fault) {
	for has(home, f) {
		time.Sleep(5 * time.Millisecond)
	}
}
