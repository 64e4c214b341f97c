package limactl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hermes-box/limactl/child"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Requests of linux/kvm.h.
const (
	kvmGetAPIVersion = 0xae00
	kvmCreateVM      = 0xae01
	kvmCreateVCPU    = 0xae41
)

// Acceleration returns how VMs of the current user are accelerated. It tries /dev/kvm, because the user may have no
// access to it, or it may not work in a nested VM. It tries once per process, which takes a quarter of a second if
// /dev/kvm seems to work.
var Acceleration = sync.OnceValue(func() Accel {
	err := tryKVM("/dev/kvm")
	if err == nil {
		err = tryQEMU("qemu-system-" + limaArch(runtime.GOARCH))
	}
	if err == nil {
		return Accel{Name: "kvm"}
	}
	a := Accel{Name: "tcg", Reason: "this machine has no /dev/kvm", OldQEMU: OldQEMU(versionOf("qemu-system-" + limaArch(runtime.GOARCH)))}
	if !errors.Is(err, os.ErrNotExist) {
		a.Reason, a.forced = "/dev/kvm cannot be used: "+err.Error(), true
	}
	return a
})

// versionOf returns what a program prints with --version; empty if it cannot be run.
func versionOf(program string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	child.Detach(cmd)
	out, _ := cmd.Output()
	return string(out)
}

// tryKVM creates a VM with one processor and removes it.
func tryKVM(device string) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	version, err := ioctl(f.Fd(), kvmGetAPIVersion)
	if err != nil {
		return fmt.Errorf("it is not a KVM device: %w", err)
	}
	if version != 12 {
		return fmt.Errorf("its API version is %d, not 12", version)
	}
	vm, err := ioctl(f.Fd(), kvmCreateVM)
	if err != nil {
		return fmt.Errorf("it cannot create a VM: %w", err)
	}
	defer unix.Close(int(vm))
	cpu, err := ioctl(vm, kvmCreateVCPU)
	if err != nil {
		return fmt.Errorf("it cannot create a processor: %w", err)
	}
	return unix.Close(int(cpu))
}

func ioctl(fd, request uintptr) (uintptr, error) {
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, 0)
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

// tryQEMU runs a qemu that sets up the processor that Lima asks for and then quits. In a nested VM whose host hides
// some registers, tryKVM succeeds but tryQEMU fails. Without qemu it succeeds: Lima reports that qemu is missing.
func tryQEMU(program string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-machine", limaMachine()+",accel=kvm", "-cpu", "host",
		"-display", "none", "-nodefaults", "-S", "-qmp", "stdio")
	cmd.Stdin = strings.NewReader(`{"execute":"qmp_capabilities"}` + "\n" + `{"execute":"quit"}` + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	child.Detach(cmd)
	err = cmd.Run()
	if err == nil {
		return nil
	}
	message, _, _ := strings.Cut(strings.TrimPrefix(stderr.String(), program+": "), "\n")
	return fmt.Errorf("qemu cannot set up a processor: %w: %s", err, message)
}
