package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/rehearsal/userland"
)

// Main runs a program of the demo, and does not return, if this process was started under its name: limactl or ssh of
// the host, or a program of a simulated machine. Call it first in main; otherwise it returns at once.
func Main() {
	if status, is := userland.Main(machineAt); is {
		os.Exit(status)
	}
	rehearsal.MainWith(inside{})
	name := filepath.Base(os.Args[0])
	for _, p := range Props() {
		if p == name {
			fmt.Fprintf(os.Stderr, "%s: only a prop of the demo\n", name)
			os.Exit(1)
		}
	}
}

// Props returns the names of the programs that a host needs but a rehearsal never runs. Tests link them into their
// PATH, so that they do not depend on the programs that are installed.
func Props() []string {
	if runtime.GOOS == "darwin" {
		return []string{"ssh-keygen"}
	}
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return []string{"ssh-keygen", "qemu-img", "qemu-system-" + arch}
}

// inside runs a simulated machine in the rehearsal's instances.
type inside struct{}

func (inside) Boot(ctx context.Context, m rehearsal.Machine, console io.Writer, ready func()) error {
	hw := userland.Hardware{Memory: m.Memory, Socket: m.Socket}
	for _, d := range m.Disks {
		hw.Disks = append(hw.Disks, userland.Disk{Dir: d.Dir, Size: d.Size})
	}
	return machineAt(m.Dir).Boot(ctx, hw, console, ready)
}

func (inside) Login(m rehearsal.Machine, command, term string) *exec.Cmd {
	cmd := machineAt(m.Dir).Login(command, term)
	for _, key := range []string{rehearsal.PaceVariable, "GORACE", "GOCOVERDIR"} {
		if value, ok := os.LookupEnv(key); ok {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
	}
	return cmd
}

// machineAt returns the machine in an instance's directory. Its faults are those of its LIMA_HOME.
func machineAt(root string) userland.Machine {
	lima := filepath.Dir(filepath.Dir(root))
	return userland.Machine{
		Root:  root,
		Fault: func(name string) bool { return rehearsal.Has(lima, rehearsal.Fault(name)) },
		Pause: rehearsal.Pause,
	}
}
