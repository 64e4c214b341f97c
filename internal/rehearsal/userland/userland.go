// Package userland is the software of a simulated machine: its boot, its logins, and the programs that the host calls
// in it, such as the guest helper. In the machine's /usr/bin these programs are links to the running executable.
// Programs that only read or write files are those of this host.
//
// There is no VM: everything runs on this host, and nothing separates it from the host.
package userland

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/guest"
	"hermes-box/guest/durable"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
	"hermes-box/guest/serve"
	"hermes-box/internal/rehearsal/simulate"
)

// Machine is a simulated machine with its faults.
type Machine struct {
	Root string // the directory that is the machine's /
	// Fault, if set, reports whether the machine has the fault of that name, which is one of Faults.
	Fault func(name string) bool
	// Pause, if set, waits for the time that an action takes on a real machine. It returns early when ctx ends.
	Pause func(ctx context.Context, usual time.Duration)
}

// Faults lists the names of the faults of a machine.
var Faults = []string{"data-unmounted", "guest-hangs", "clock-skew", "dns-dead", "smoke-fails", "health-fails", "low-disk", "extra-tool", "snapshot-fails", "snapshot-full"}

const recoveryUnit = "hermes-box-recovery.service"

// programs maps names to the programs of the machine.
var programs = map[string]func(m Machine, args []string) int{
	"hermes-box-guest": Machine.helper,
	"sudo":             Machine.sudo,
	"systemctl":        Machine.systemctl,
	"journalctl":       Machine.journalctl,
	"getent":           getent,
	"findmnt":          findmnt,
	"sha256sum":        sha256sum,
	"tm":               Machine.tm,
	"reboot":           Machine.reboot,
}

// Main runs a program of a simulated machine and returns its exit status, if this process was started under the name of
// that program, with the machine's directory in the environment. Otherwise it returns false.
func Main(with func(root string) Machine) (status int, ok bool) {
	root := os.Getenv(simulate.RootVariable)
	if root == "" {
		return 0, false
	}
	program := programs[filepath.Base(os.Args[0])]
	if program == nil {
		return 0, false
	}
	return program(with(root), os.Args[1:]), true
}

// install links the programs into the machine.
func (m Machine) install() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	bin := m.path("usr/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for name := range programs {
		link := filepath.Join(bin, name)
		if at, err := os.Readlink(link); err == nil && at == exe {
			continue
		}
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := os.Symlink(exe, link); err != nil {
			return err
		}
	}
	return nil
}

func (m Machine) path(elem ...string) string {
	return filepath.Join(append([]string{m.Root}, elem...)...)
}

func (m Machine) fault(name string) bool { return m.Fault != nil && m.Fault(name) }

func (m Machine) pause(ctx context.Context, usual time.Duration) {
	if m.Pause != nil {
		m.Pause(ctx, usual)
	}
}

// open returns the engine on this machine.
func (m Machine) open() *guest.Guest {
	sys := simulate.Open(m.Root)
	g := &guest.Guest{Tree: durable.Tree{Root: m.Root}, Machine: sys, Helper: m.path(protocol.HelperPath), Now: m.now}
	sys.Full = m.fault("low-disk")
	sys.SnapshotFull = m.fault("snapshot-full")
	if m.fault("snapshot-fails") {
		sys.Fail = func(effect string) error {
			if effect == "snapshot "+protocol.DataDir {
				return errors.New("device mapper: no such device")
			}
			return nil
		}
	}
	sys.Crashes = func(unit string) bool { return unit == "executor.service" && m.fault("health-fails") }
	if m.fault("extra-tool") {
		sys.Tools = []string{"execute", "resume", "shell"}
	}
	if m.fault("smoke-fails") {
		sys.Programs = map[string]func(machine.Cmd) ([]byte, error){"codex": func(c machine.Cmd) ([]byte, error) {
			return nil, &machine.ExitError{Cmd: "codex --version", Status: 139, Output: "Segmentation fault", Err: os.ErrInvalid}
		}}
	}
	sys.Oneshot = map[string]func(context.Context) error{recoveryUnit: func(ctx context.Context) error {
		if err := g.CheckData(ctx); err != nil {
			return err
		}
		_, err := g.Recover(ctx)
		return err
	}}
	return g
}

func (m Machine) now() time.Time {
	if m.fault("clock-skew") {
		return time.Now().Add(-time.Hour)
	}
	return time.Now()
}

// helper runs the guest helper of this machine.
func (m Machine) helper(args []string) int {
	if args = m.terminal(args); args == nil {
		return m.session()
	}
	helper := m.newHelper()
	helper.Root = os.Getenv(asRoot) != ""
	return helper.Main(args)
}

// newHelper returns the guest helper of this machine.
func (m Machine) newHelper() serve.Helper {
	return serve.Helper{Command: m.command, Open: func(verb string) *guest.Guest {
		for verb == protocol.VerbStatus && m.fault("guest-hangs") {
			time.Sleep(20 * time.Millisecond)
		}
		m.kernel()
		g := m.open()
		g.Emit = m.takeTime
		return g
	}}
}

// takeTime pauses for each step of the engine, in proportion to the time that the step takes on a real machine.
func (m Machine) takeTime(e protocol.Event) {
	if e.State != protocol.Started {
		return
	}
	usual := map[string]time.Duration{protocol.PhaseStage: 400, protocol.PhaseSmoke: 150, protocol.PhaseActivate: 60, protocol.PhaseHealth: 120,
		"packages": 200, "format": 400, "mount": 100, "units": 200}[e.Phase]
	if strings.Contains("hermes executor", e.Component) && e.Component != "" {
		usual *= 2
	}
	m.pause(context.Background(), usual*time.Millisecond)
}
