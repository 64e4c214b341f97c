package limactl

import (
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
}

// Slow reports whether VMs are emulated in software.
func (a Accel) Slow() bool { return a.Name == "tcg" }

// accelEnv returns the environment that keeps Lima from using a /dev/kvm that does not work. It must be the same at
// every create and start. It does not replace a qemu command that the user has set.
func (c *Client) accelEnv() []string {
	a := c.probe()
	if !a.forced {
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
	return []string{key + "=" + qemu + " -machine " + limaMachine() + ",accel=tcg -cpu max"}
}

// limaMachine returns the machine type that Lima uses with qemu on this host.
func limaMachine() string {
	if runtime.GOARCH == "arm64" {
		return "virt"
	}
	return "q35"
}
