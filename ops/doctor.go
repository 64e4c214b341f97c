package ops

import (
	"context"
	"fmt"
	"time"

	"hermes-box/limactl"
)

// Diagnosis is the result of all checks of doctor.
type Diagnosis struct {
	Checks  []Check `json:"checks"`
	Failed  int     `json:"failed"`
	Unknown int     `json:"unknown"` // could not be checked; another check usually says why
}

// checkBound is the timeout of a check. Emulated CPUs need half a minute to run all six components.
const checkBound = 3 * time.Minute

// Doctor checks the host and, if it can be reached, the box. It changes nothing. For every check it calls the function
// each twice: with the verdict Looking when the check begins, and with the result when the check ends. If this host does
// not have the box, Doctor runs the checks of create. If limactl does not answer, Doctor waits for at most Host.Patience
// in total.
func (b *Box) Doctor(ctx context.Context, each func(Check)) *Diagnosis {
	d := &Diagnosis{}
	ctx = b.patient(ctx)
	run := func(p probe) Check {
		ctx, cancel := context.WithTimeout(ctx, checkBound)
		defer cancel()
		if each != nil {
			each(Check{ID: p.id, Title: p.title, Verdict: Looking})
		}
		c := p.run(ctx)
		d.Checks = append(d.Checks, c)
		switch c.Verdict {
		case Fail:
			d.Failed++
		case Unknown:
			d.Unknown++
		}
		if each != nil {
			each(c)
		}
		return c
	}
	if b.RecordErr != nil { // without a record only the host can be checked
		run(probe{"record", "record of the box", func(context.Context) Check { return failed(b.RecordErr) }})
		for _, p := range b.hostProbes() {
			run(p)
		}
		return d
	}
	// notChecked reports all checks inside the box as one unknown check, so that doctor succeeds only if it has
	// checked everything.
	notChecked := func(why Check) {
		run(probe{"inside", "inside the box", func(context.Context) Check {
			return Check{Verdict: Unknown, Evidence: "not checked: " + why.Evidence}
		}})
	}
	underway := run(probe{"operation", "other operations", b.checkUnderway})
	if u, err := b.underway(); err != nil || u != nil && u.Unfinished() {
		return d // the box is half made, or half removed
	} else if u != nil && u.Running {
		notChecked(Check{Evidence: underway.Evidence}) // the check of the operation has the repair
		return d
	}
	if b.Record == nil {
		for _, p := range b.preflight() {
			run(p)
		}
		return d
	}
	for _, p := range append(b.hostProbes(), probe{"disk", "data disk of the host", b.checkDisk}, probe{"ports", "ports", b.checkPortsHeld}) {
		run(p)
	}
	in := insideChecks{Box: b}
	vm := run(probe{"vm", "VM", in.checkVM})
	run(probe{"key", "key of the backups", b.checkKey})
	run(probe{"backup-times", "times of the backups", b.checkBackupTimes})
	switch {
	case vm.Verdict == Warn:
		notChecked(vm)
		return d
	case in.off || vm.Verdict == Unknown:
		return d
	}
	for _, p := range in.probes() {
		run(p)
	}
	return d
}

// hostProbes returns the checks of this machine that do not depend on the state of the box.
func (b *Box) hostProbes() []probe {
	return []probe{
		{"lock", "lock file", b.checkLock},
		{"lima", "Lima", b.checkLima},
		{"virtualization", "virtualization", b.checkVirtualization},
		{"path", "state directory", b.checkPath},
		{"space", "disk space", b.checkRoomToGrow},
	}
}

func (b *Box) checkUnderway(context.Context) Check {
	u, err := b.underway()
	switch {
	case err != nil:
		return failed(err)
	case u == nil:
		return pass("none")
	case u.Running:
		return warn(u.String(), u.Repair)
	}
	return fail(u.String(), u.Repair)
}

// checkPortsHeld fails if another program listens on a port of the box.
func (b *Box) checkPortsHeld(context.Context) Check {
	for _, port := range []int{b.Ports().Executor, b.Ports().Dashboard} {
		if l := limactl.Answering(limactl.Listeners(port), limactl.Loopback); l != nil && b.foreign(*l) {
			return fail(fmt.Sprintf("port %d of this machine is held by %s, not by the box", port, l), "stop that program, then: hermes-box restart")
		}
	}
	return pass(fmt.Sprintf("%d and %d are held by no other program", b.Ports().Executor, b.Ports().Dashboard))
}

func (b *Box) checkDisk(ctx context.Context) Check {
	d, err := b.Lima.Disk(ctx, b.Record.Disk)
	if err != nil {
		return unknown(err, b.Lima.CommandLine("disk", "list"))
	}
	switch {
	case d.Stale:
		return fail(fmt.Sprintf("disk %s is in use by VM %q, which is gone", d.Name, d.InUseBy), "hermes-box start")
	case d.InUseBy != "" && d.InUseBy != b.Record.Instance:
		return fail(fmt.Sprintf("disk %s is in use by VM %q, which is not this box", d.Name, d.InUseBy),
			b.Lima.CommandLine("stop", d.InUseBy))
	}
	return pass(fmt.Sprintf("%s, %s, %s", d.Name, d.Format, size(d.Size)))
}
