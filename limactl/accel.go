package limactl

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// Accel is how fast the machines of this host are.
type Accel struct {
	Name   string // vz, kvm, or tcg: software emulation, tens of times slower
	Reason string // why it is tcg; empty otherwise
	forced bool   // /dev/kvm is there, so that Lima would choose kvm, and cannot be used
}

// Slow tells whether machines are emulated in software.
func (a Accel) Slow() bool { return a.Name == "tcg" }

// accelEnv is the environment that keeps Lima from choosing a /dev/kvm that is there and cannot be used. It must be
// the same at every create and start. What the user has set for qemu is left alone.
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
		return nil // Lima says it better
	}
	return []string{key + "=" + qemu + " -machine " + limaMachine() + ",accel=tcg -cpu max"}
}

// limaMachine is the kind of machine that Lima makes with qemu on this host.
func limaMachine() string {
	if runtime.GOARCH == "arm64" {
		return "virt"
	}
	return "q35"
}
