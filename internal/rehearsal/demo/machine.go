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

// Main returns at once, unless this process was started under the name of a program of the demo: limactl, ssh or one of
// Props on the host, or a program of a simulated machine. Then it runs that program and exits. Call it first in main.
func Main() {
	if status, is := userland.Main(machineAt); is {
		os.Exit(status)
	}
	rehearsal.MainWith(inside{})
	name := filepath.Base(os.Args[0])
	for _, p := range Props() {
		if p == name {
			fmt.Fprintf(os.Stderr, "%s: a stand-in of the demo, which does nothing\n", name)
			os.Exit(1)
		}
	}
}

// Props returns the names of the programs that a host must have but a rehearsal never runs. Demos and tests link
// stand-ins into their PATH, so that they do not depend on installed programs.
func Props() []string {
	if runtime.GOOS == "darwin" {
		return []string{"ssh-keygen"}
	}
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return []string{"ssh-keygen", "qemu-img", "qemu-system-" + arch}
}

// inside runs a simulated machine in the rehearsal's instances.
type inside struct{}

func (inside) Boot(ctx context.Context, m rehearsal.Machine, console io.Writer, ready func()) (again bool, err error) {
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
