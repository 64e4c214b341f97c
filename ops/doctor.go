package ops

import (
	"context"
	"fmt"
	"time"

	"hermes-box/limactl"
)

// Diagnosis is all that doctor looked at.
type Diagnosis struct {
	Checks  []Check `json:"checks"`
	Failed  int     `json:"failed"`
	Unknown int     `json:"unknown"` // could not be looked at, for what another check tells as a rule
}

// checkBound is the most that one check may take: emulated CPUs need half a minute to run all six components.
const checkBound = 3 * time.Minute

// Doctor looks at the host and, as far as it can be reached, into the box. It changes nothing. Each check is announced as
// Looking, and handed over again as it was made. On a host
// without the box it answers whether create would find what it needs.
func (b *Box) Doctor(ctx context.Context, each func(Check)) *Diagnosis {
	d := &Diagnosis{}
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
	if b.RecordErr != nil { // what there is of the box is not known: what is known of the host is told
		run(probe{"record", "record of the box", func(context.Context) Check { return failed(b.RecordErr) }})
		for _, p := range b.hostProbes() {
			run(p)
		}
		return d
	}
	// unseen is for the rest, where what stands before it is no fault: a doctor that ends well has seen everything.
	unseen := probe{"inside", "inside the box", func(context.Context) Check {
		return Check{Verdict: Unknown, Evidence: "not looked at"}
	}}
	run(probe{"operation", "other operations", b.checkUnderway})
	if u, err := b.underway(); err != nil || u != nil && u.Unfinished() {
		return d // what else there is to see is of a box half made, or half removed
	} else if u != nil && u.Running {
		run(unseen)
		return d
	}
	if b.Record == nil {
		for _, p := range b.preflight() {
			run(p)
		}
		return d
	}
	for _, p := range append(b.hostProbes(), probe{"disk", "data disk of the host", b.checkDisk}, probe{"ports", "ports", b.checkPortsKept}) {
		run(p)
	}
	in := insideChecks{Box: b}
	if vm := run(probe{"vm", "VM", in.checkVM}); vm.Verdict != Pass {
		if vm.Verdict == Warn {
			run(unseen)
		}
		return d
	}
	for _, p := range in.probes() {
		run(p)
	}
	return d
}

// hostProbes look at this machine alone, whatever there is of the box.
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

// checkPortsKept looks whether another program listens on a port of the box.
func (b *Box) checkPortsKept(context.Context) Check {
	for _, port := range []int{b.Ports().Executor, b.Ports().Dashboard} {
		if l := limactl.Answering(limactl.Listeners(port), limactl.Loopback); l != nil && b.foreign(*l) {
			return fail(fmt.Sprintf("port %d of this machine is held by %s, not by the box", port, l), "stop that program, then hermes-box stop and hermes-box start")
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
		return fail(fmt.Sprintf("disk %s is in use by VM %q, which is gone", d.Name, d.InUseBy), "hermes-box start releases it")
	case d.InUseBy != "" && d.InUseBy != b.Record.Instance:
		return fail(fmt.Sprintf("disk %s is in use by VM %q, which is not this box", d.Name, d.InUseBy),
			b.Lima.CommandLine("stop", d.InUseBy))
	}
	return pass(fmt.Sprintf("%s, %s, %s", d.Name, d.Format, size(d.Size)))
}
