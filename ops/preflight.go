package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"hermes-box/limactl"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// preflight returns the checks before a create, the fastest and most useful first.
func (b *Box) preflight() []probe {
	return []probe{
		{"lock", "lock file", b.checkLock},
		{"platform", "platform", b.checkPlatform},
		{"lima", "Lima", b.checkLima},
		{"virtualization", "virtualization", b.checkVirtualization},
		{"ssh", "ssh", checkSSH},
		{"path", "state directory", b.checkPath},
		{"clock", "clock of this machine", b.checkHostClock},
		{"vm-name", "VM name", b.checkInstanceFree},
		{"disk-name", "disk name", b.checkDiskFree},
		{"ports", "ports", b.checkPortsFree},
		{"machine", "CPUs and memory", b.checkMachine},
		{"space", "disk space", b.checkSpace},
	}
}

func (c *creation) preflight(ctx context.Context, p *Progress) error {
	for _, probe := range c.Box.preflight() {
		check := probe.run(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		switch check.Verdict {
		case Fail, Unknown:
			return check.refusal()
		case Warn:
			p.Warn(check.Title + ": " + check.Evidence + "; " + check.Repair)
		default:
			p.Log(check.Title + ": " + check.Evidence)
		}
	}
	var err error
	c.software.cache, err = c.openCache()
	return err
}

func (b *Box) checkLock(context.Context) Check {
	if b.LockErr != nil {
		check := failed(b.LockErr)
		if b.Record == nil {
			check.Evidence += "; a box can be created only with a lock, and restored without one"
			check.Repair += "; " + restoreFileHint
		}
		return check
	}
	return pass(b.Lock.Digest())
}

func (b *Box) checkPlatform(context.Context) Check {
	here := runtime.GOOS + "/" + runtime.GOARCH
	switch here {
	case "darwin/arm64", "linux/amd64", "linux/arm64":
	default:
		return fail(here+" cannot run a box", "use an Apple Silicon Mac, or Linux on amd64 or arm64")
	}
	if b.Lock != nil && b.Lock.Arch != runtime.GOARCH {
		return fail(fmt.Sprintf("the lock is for %s guests, this machine is %s", b.Lock.Arch, runtime.GOARCH),
			"use the lock for "+runtime.GOARCH)
	}
	return pass(here)
}

// installLima is the repair for a missing or wrong Lima. version is "" if any will do.
func installLima(version string) string {
	return strings.TrimSpace("install Lima "+version) + ": see README, \"Lima\""
}

func (b *Box) checkLima(ctx context.Context) Check {
	want := ""
	if b.Lock != nil {
		want = b.Lock.Lima.Version
	}
	got, err := b.Lima.Version(ctx)
	if errors.Is(err, limactl.ErrNotInstalled) {
		return fail("limactl is not installed", installLima(want))
	}
	if err != nil {
		return unknown(err, cmp.Or(fault.HintOf(err), b.Lima.CommandLine("--version")))
	}
	if want != "" && got != want {
		return fail(fmt.Sprintf("Lima is %s, but the lock requires %s", got, want),
			installLima(want))
	}
	return pass("Lima " + got)
}

func (b *Box) checkVirtualization(context.Context) Check {
	if vmType() == "vz" {
		return pass("Apple Virtualization.framework")
	}
	program := "qemu-system-x86_64"
	if runtime.GOARCH == "arm64" {
		program = "qemu-system-aarch64"
	}
	for _, p := range []string{program, "qemu-img"} {
		if _, err := exec.LookPath(p); err != nil {
			return fail(p+" is not installed", "apt-get install qemu-system qemu-utils")
		}
	}
	a := b.Lima.Acceleration()
	if a.OldQEMU != "" {
		return warn("software emulation on one CPU, very slow: "+a.Reason+", and QEMU "+a.OldQEMU+" cannot emulate several CPUs safely",
			"give this user access to a working /dev/kvm, or install QEMU 8.1 or newer")
	}
	if a.Slow() {
		return warn("software emulation, slow: "+a.Reason, "give this user access to a working /dev/kvm")
	}
	return pass("QEMU with " + a.Name)
}

func checkSSH(context.Context) Check {
	for _, p := range []string{"ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(p); err != nil {
			return fail(p+" is not installed", "apt-get install openssh-client")
		}
	}
	return pass("OpenSSH")
}

func (b *Box) checkPath(context.Context) Check {
	if strings.ContainsAny(b.Dir, `,"%`) { // they have a meaning in qemu's options and in ssh's ControlPath
		return fail(b.Dir+" has a comma, quote or percent sign in it", "set HERMES_BOX_HOME to a path without these characters")
	}
	if err := store.Check(b.Dir); err != nil {
		return failed(err)
	}
	if err := limactl.CheckHome(b.Home.Lima(), b.Name()); err != nil {
		return fail(err.Error(), "set HERMES_BOX_HOME to a shorter path, such as /var/tmp/hb")
	}
	return pass(b.Dir)
}

// errNoLock is the error of checks that need the lock. The check of the lock itself reports what is wrong with it.
var errNoLock = errors.New("this cannot be checked without a lock")

// checkHostClock finds a clock that is far behind: TLS and logins would fail in the box.
func (b *Box) checkHostClock(context.Context) Check {
	now := time.Now()
	info, err := os.Stat(LockPath(b.Config))
	switch {
	case errors.Is(err, fs.ErrNotExist) && b.Lock != nil: // a restore takes the lock from the backup
		return pass(now.Format(time.RFC3339))
	case err != nil:
		return unknown(errNoLock, "")
	}
	if behind := info.ModTime().Sub(now); behind > 24*time.Hour {
		return fail(fmt.Sprintf("the clock of this machine says %s, but the lock file was written on %s",
			now.Format(time.DateOnly), info.ModTime().Format(time.DateOnly)), "set the clock of this machine")
	}
	return pass(now.Format(time.RFC3339))
}

func (b *Box) checkInstanceFree(ctx context.Context) Check {
	name := b.Name()
	in, err := b.Lima.Instance(ctx, name)
	switch {
	case errors.Is(err, limactl.ErrNotFound):
		return pass(name + " is free")
	case errors.Is(err, limactl.ErrNotInstalled):
		return fail("limactl is not installed", installLima(""))
	case err != nil:
		return unknown(err, cmp.Or(fault.HintOf(err), b.Lima.CommandLine("list")))
	}
	if err := b.recordLost(); err != nil {
		return failed(err)
	}
	c := fail(fmt.Sprintf("a VM %q that hermes-box did not make is in %s", name, in.Dir),
		"choose another name in "+b.Config.Path+", or remove that VM yourself")
	c.code = "already_exists"
	return c
}

func (b *Box) checkDiskFree(ctx context.Context) Check {
	name := dataDisk(b.Name())
	d, err := b.Lima.Disk(ctx, name)
	switch {
	case errors.Is(err, limactl.ErrNotFound):
		return pass(name + " is free")
	case err != nil:
		return unknown(err, cmp.Or(fault.HintOf(err), b.Lima.CommandLine("disk", "list")))
	}
	if err := b.recordLost(); err != nil {
		return failed(err)
	}
	c := fail(fmt.Sprintf("a disk %q that hermes-box did not make is in %s", name, d.Dir),
		"choose another name in "+b.Config.Path+", or remove that disk yourself")
	c.code = "already_exists"
	return c
}

func (b *Box) checkPortsFree(context.Context) Check {
	ports := b.Ports()
	for _, port := range []int{ports.Executor, ports.Dashboard} {
		if err := limactl.PortFree(port); err != nil {
			return fail(err.Error(), "stop what holds it, or set another port in "+b.Config.Path)
		}
	}
	return pass(fmt.Sprintf("%d and %d are free", ports.Executor, ports.Dashboard))
}

// checkMachine compares the size of the box with this machine. It only warns: the guest takes memory as it needs it,
// and too many CPUs only make it slow.
func (b *Box) checkMachine(context.Context) Check {
	return resources{runtime.NumCPU(), freeMemory()}.enough(b.actual(), b.Config.Path)
}

// resources are the number of CPUs and the free memory of a machine. Memory is in bytes, 0 if unknown.
type resources struct {
	cpus   int
	memory int64
}

func (have resources) enough(want store.Machine, file string) Check {
	var short, set []string
	if have.cpus < want.CPUs {
		short = append(short, fmt.Sprintf("the config asks for %d CPUs, this machine has %d", want.CPUs, have.cpus))
		set = append(set, fmt.Sprintf("cpus: %d", have.cpus))
	}
	if have.memory > 0 && have.memory < want.Memory {
		short = append(short, fmt.Sprintf("the config asks for %s of memory, %s are free", size(want.Memory), size(have.memory)))
		set = append(set, "memory: "+config.FormatSize(max(have.memory>>30, 1)<<30))
	}
	if len(short) > 0 {
		return warn(strings.Join(short, "; "), fmt.Sprintf("set vm: {%s} in %s", strings.Join(set, ", "), file))
	}
	return pass(fmt.Sprintf("%d CPUs, %s free", have.cpus, size(have.memory)))
}
