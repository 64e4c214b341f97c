package limactl

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// Accel describes how the VMs of this host are accelerated.
type Accel struct {
	Name   string // vz, kvm, or tcg: software emulation, tens of times slower
	Reason string // why it is tcg; empty otherwise
	forced bool   // /dev/kvm exists but cannot be used; Lima would still choose kvm
	// OldQEMU is the version of a qemu before 8.1, if it emulates; empty otherwise. Linux patches its own code while it
	// runs, and with several emulated processors in several threads such a qemu may run the half of a patch, which
	// crashes the guest's kernel with "int3". QEMU 8.1 has the fix: commit deba78709a, "accel/tcg: Always lock pages
	// before translation".
	OldQEMU string
}

// OldQEMU returns the version in the output of qemu --version if it is before 8.1, else "". See Accel.OldQEMU.
func OldQEMU(output string) string {
	var major, minor int
	rest, _ := strings.CutPrefix(output, "QEMU emulator version ")
	if n, _ := fmt.Sscanf(rest, "%d.%d", &major, &minor); n < 2 || major > 8 || major == 8 && minor >= 1 {
		return ""
	}
	return fmt.Sprintf("%d.%d", major, minor)
}

// Slow reports whether VMs are emulated in software.
func (a Accel) Slow() bool { return a.Name == "tcg" }

// accelEnv returns the environment that keeps Lima from using a /dev/kvm that does not work, and an old qemu from
// emulating in several threads. It must be the same at every create and start. It does not replace a qemu command that
// the user has set.
func (c *Client) accelEnv() []string {
	a := c.probe()
	if !a.forced && a.OldQEMU == "" {
		return nil
	}
	arch := limaArch(runtime.GOARCH)
	key := "QEMU_SYSTEM_" + strings.ToUpper(arch)
	if slices.ContainsFunc(c.env, func(kv string) bool { return strings.HasPrefix(kv, key+"=") && kv != key+"=" }) {
		return nil
	}
	qemu, err := exec.LookPath("qemu-system-" + arch)
	if err != nil {
		return nil // Lima reports that qemu is missing
	}
	machine := limaMachine() + ",accel=tcg"
	if a.OldQEMU != "" {
		machine = limaMachine() + " -accel tcg,thread=single"
	}
	return []string{key + "=" + qemu + " -machine " + machine + " -cpu max"}
}

// limaMachine returns the machine type that Lima uses with qemu on this host.
func limaMachine() string {
	if runtime.GOARCH == "arm64" {
		return "virt"
	}
	return "q35"
}
