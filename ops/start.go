package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops/fault"
)

// Run is the outcome of start, stop and restart.
type Run struct {
	Already bool             `json:"already"` // there was nothing to do
	Drift   []Drifted        `json:"drift,omitempty"`
	Status  *protocol.Status `json:"status,omitempty"`
}

const (
	// forceHint is the hint for a box that cannot be asked: a stop without --force, and so a restart, needs its answer.
	forceHint = "hermes-box stop --force; hermes-box start"
	// restartHint is the hint for a box that may answer.
	restartHint = "hermes-box restart; if it does not answer: " + forceHint
)

// start boots the box and starts its services. It installs nothing and reports drift. A box that runs and is healthy
// is not changed.
func (b *Box) start(ctx context.Context, sink Sink) (*Run, error) {
	result := &Run{}
	err := b.change(ctx, "start", false, sink, func(ctx context.Context) (Plan, error) {
		in, err := b.vm(ctx)
		if err != nil {
			return Plan{}, err
		}
		switch {
		case in.State == limactl.Degraded && !in.Dead:
			return Plan{}, fault.New(fault.PreflightFailed, "box %q is degraded: %s", b.Name(), in.Cause).
				Hint(restartHint)
		case in.State == limactl.Running:
			begun := time.Now()
			if s, err := b.guestStatus(ctx); err == nil && allHealthy(s) {
				if dead := deadForwards(b.judgePorts(ctx, b.askPorts(ctx)(portLimit(time.Since(begun))), s, false)); dead != "" {
					return Plan{}, fault.New(fault.HealthFailed, "box %q runs, but %s", b.Name(), dead).Hint("hermes-box restart")
				}
				result.Already, result.Status = true, s
				b.remember(s)
				return Plan{}, nil
			}
		}
		if c := b.checkLima(ctx); c.Verdict != Pass { // as in create: a version of Lima that was not tested must not touch the disks
			return Plan{}, c.refusal()
		}
		return Plan{Steps: b.startSteps(in, result)}, nil
	})
	if err != nil {
		return nil, err
	}
	b.reportDrift(result)
	return result, nil
}

// vm returns the VM of a box that exists, or an error if the VM is gone.
func (b *Box) vm(ctx context.Context) (limactl.Instance, error) {
	if err := b.exists(); err != nil {
		return limactl.Instance{}, err
	}
	in, err := b.instance(ctx)
	if err == nil && (in.State == limactl.Absent || in.Left) {
		err = b.vmGone()
	}
	return in, err
}

// reportDrift adds the drift to the result of an operation after which the box runs.
func (b *Box) reportDrift(result *Run) {
	drift := b.drift(result.Status)
	result.Drift = append(changes(append(drift.Platform, drift.Components...)), b.machineDrift()...)
	result.Status.Lock = "" // Drift has the differences
}

// startSteps returns the steps that boot the VM, unless it runs, and start the services.
func (b *Box) startSteps(in limactl.Instance, result *Run) []Step {
	var steps []Step
	if in.Dead { // the VM has ended, but its host agent still holds the ports
		steps = append(steps, Step{ID: "clear", Title: "remove the files that the dead VM left", Do: func(ctx context.Context, _ *Progress) error {
			return b.Lima.Kill(ctx, b.Record.Instance)
		}})
	}
	if in.State != limactl.Running {
		steps = append(steps,
			Step{ID: "ports", Title: "check the ports", Do: func(ctx context.Context, _ *Progress) error {
				if c := b.checkPortsFree(ctx); c.Verdict == Fail {
					return c.refusal()
				}
				return nil
			}}, b.bootStep(in))
	}
	return append(steps,
		Step{ID: "services", Title: "start the services", Do: func(ctx context.Context, p *Progress) error {
			// A start may replace the helper, which belongs to this program and not to the installed software.
			return b.askUpgrading(ctx, protocol.VerbStart, nil, nil, relay(p))
		}},
		Step{ID: "verify", Title: "check the box", Do: func(ctx context.Context, p *Progress) (err error) {
			if result.Status, err = b.settle(ctx, p); err != nil {
				return err
			}
			return b.forwarded(ctx, result.Status)
		}})
}

// bootStep returns the step that boots the VM. Its undo stops only a VM that is still booting. A VM that is up stays
// up even if its services fail, so that the user can examine it.
func (b *Box) bootStep(in limactl.Instance) Step {
	up := in.State != limactl.Stopped && !in.Dead
	return Step{ID: "boot", Title: "boot the VM",
		Do: func(ctx context.Context, p *Progress) error {
			if err := b.Lima.CleanStale(ctx, b.Record.Instance); err != nil {
				return err
			}
			if err := b.releaseDisk(ctx, p); err != nil {
				return err
			}
			err := b.startVM(ctx, p)
			up = err == nil
			return err
		},
		Undo: func(ctx context.Context) error { return b.Lima.Kill(ctx, b.Record.Instance) },
		Stays: func() string {
			if up {
				return "the VM stays up; to stop it: hermes-box stop"
			}
			return ""
		}}
}

// releaseDisk unlocks the data disk if the VM that holds it no longer exists.
func (b *Box) releaseDisk(ctx context.Context, p *Progress) error {
	d, err := b.Lima.Disk(ctx, b.Record.Disk)
	if err != nil || !d.Stale {
		return err
	}
	if err := b.Lima.UnlockDisk(ctx, d.Name); err != nil {
		return err
	}
	p.Warn(fmt.Sprintf("disk %s was in use by VM %q, which is gone: released", d.Name, d.InUseBy))
	return nil
}

// stop stops the services, syncs the data disk and stops the VM. A stopped box is not changed. With force it kills the
// VM without a call into the guest, for a box that no longer answers.
func (b *Box) stop(ctx context.Context, force bool, sink Sink) (*Run, error) {
	result := &Run{}
	err := b.change(ctx, "stop", force, sink, func(ctx context.Context) (Plan, error) {
		if err := b.exists(); err != nil {
			return Plan{}, err
		}
		in, err := b.instance(ctx)
		if err != nil {
			return Plan{}, err
		}
		if in.State == limactl.Stopped || in.State == limactl.Absent || in.Left {
			result.Already = true
			return Plan{}, nil
		}
		return Plan{Steps: b.stopSteps(in, force)}, nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// restart stops the box and starts it again, as one operation. If the box is stopped already, restart only starts it.
func (b *Box) restart(ctx context.Context, sink Sink) (*Run, error) {
	result := &Run{}
	err := b.change(ctx, "restart", false, sink, func(ctx context.Context) (Plan, error) {
		in, err := b.vm(ctx)
		if err != nil {
			return Plan{}, err
		}
		if c := b.checkLima(ctx); c.Verdict != Pass {
			return Plan{}, c.refusal()
		}
		var steps []Step
		if in.State != limactl.Stopped && !in.Dead {
			steps = b.stopSteps(in, false)
			in = limactl.Instance{Name: in.Name, State: limactl.Stopped}
		}
		return Plan{Steps: append(steps, b.startSteps(in, result)...)}, nil
	})
	if err != nil {
		return nil, err
	}
	b.reportDrift(result)
	return result, nil
}

// The steps that stop a box, in stop and in restart.
const (
	stepQuiesce = "quiesce"
	stepStop    = "stop"
)

// stopSteps returns the steps that stop a VM. With force they make no call into the guest.
func (b *Box) stopSteps(in limactl.Instance, force bool) []Step {
	var steps []Step
	if !force { // even for a degraded box, whose data may still be in memory
		reached := true
		steps = append(steps, Step{ID: stepQuiesce, Title: "stop the services and sync the data disk",
			Do: func(ctx context.Context, p *Progress) error {
				ctx, cancel := context.WithTimeout(ctx, quiesceBound)
				defer cancel()
				err := b.askUpgrading(ctx, protocol.VerbQuiesce, nil, &protocol.Quiesced{}, relay(p))
				reached = !notReached(err)
				if err != nil && !errors.Is(err, context.Canceled) {
					return fault.New(fault.ExternalFailed, "the services were not stopped, or the data disk was not synced: %w", err).
						Hint("to power it off without that: hermes-box stop --force")
				}
				return err
			},
			Changed: func() bool { return reached },
			Undo:    func(ctx context.Context) error { return b.ask(ctx, protocol.VerbStart, nil, nil, nil) }})
	}
	stopped := false
	return append(steps, Step{ID: stepStop, Title: "stop the VM",
		Do: func(ctx context.Context, _ *Progress) (err error) {
			if force {
				err = b.Lima.Kill(ctx, b.Record.Instance)
			} else {
				err = b.Lima.Stop(ctx, b.Record.Instance, in.State == limactl.Degraded, stopBound)
			}
			stopped = err == nil || b.Lima.Peek(b.Record.Instance) == limactl.Stopped
			return err
		},
		Stays: func() string {
			if stopped {
				return "the box is stopped; to start it: hermes-box start"
			}
			return ""
		}})
}

// Bounds of a stop. The guest has three minutes to shut down under qemu.
const (
	quiesceBound = 4 * time.Minute
	stopBound    = 4 * time.Minute
)
