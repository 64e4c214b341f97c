package rehearsal

import (
	"os"
	"path/filepath"
	"time"
)

// Fault is a fault of a LIMA_HOME, which can be switched on and off. A Guest may have faults of its own.
type Fault string

// The faults.
const (
	CreateFails       Fault = "create-fails"        // leaves a directory without lima.yaml
	StartFails        Fault = "start-fails"         // the driver ends at once
	HoldAgent         Fault = "hold-agent"          // the host agent runs, but its driver does not yet: Lima says Broken
	HoldBoot          Fault = "hold-boot"           // the guest does not finish booting until this is switched off
	Degraded          Fault = "degraded"            // the host agent reports errors at boot
	HoldStop          Fault = "hold-stop"           // the host agent does not react to the request to stop
	AgentSlow         Fault = "agent-slow"          // the host agent takes half a second to write its pid file
	AgentStays        Fault = "agent-stays"         // the host agent keeps running, with its ports, when its VM has died
	Broken            Fault = "broken"              // the host agent does not answer, although everything runs
	PIDReused         Fault = "pid-reused"          // once: the pid file of a stopped instance names another process, as after a reboot
	SmallDisk         Fault = "small-disk"          // a disk that is created has room for 16 MiB, whatever its size; needs Linux and root
	StaleLock         Fault = "stale-lock"          // a deleted instance still holds the lock of the data disk
	DiskDeleteSkipped Fault = "disk-delete-skipped" // limactl disk delete warns, deletes nothing and ends with status 0
	ListNoise         Fault = "list-noise"          // one line in the output of limactl list is not JSON
	ListHangs         Fault = "list-hangs"          // limactl list prints nothing and does not end
	StrayDirectory    Fault = "stray-directory"     // limactl list of all instances fails, as if one had no lima.yaml
	RefuseRoot        Fault = "refuse-root"         // limactl refuses to run, as it does for root
	SSHRefused        Fault = "ssh-refused"         // the guest runs, but nobody can log in
	StaleMaster       Fault = "stale-master"        // the shared ssh connection hangs until its master is stopped
	ConnectLost       Fault = "connect-lost"        // ssh ends with 255 half a second into a command
	LoginNoise        Fault = "login-noise"         // a login script prints on stdout and stderr
	ForwardDead       Fault = "forward-dead"        // ports are no longer forwarded, as after sleep
	PortConflict      Fault = "port-conflict"       // a port of the host cannot be opened, but Lima says that it forwards the port
)

// Faults lists all faults.
var Faults = []Fault{CreateFails, StartFails, HoldAgent, HoldBoot, Degraded, HoldStop, AgentSlow, AgentStays, Broken, PIDReused, SmallDisk, StaleLock, DiskDeleteSkipped,
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

// Has reports whether a fault is switched on.
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
