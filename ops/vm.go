package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/artifact"
	"hermes-box/ops/fault"
)

// machine describes the VM to Lima. The digests of the image files are verified once more.
func (b *Box) machine(ctx context.Context, cache *artifact.Cache) (limactl.Machine, error) {
	l, v := b.Lock, b.actual()
	m := limactl.Machine{
		Name: b.Record.Instance, VMType: vmType(), Arch: l.Arch,
		CPUs: v.CPUs, Memory: v.Memory, RootDisk: v.RootDisk, Disk: b.Record.Disk,
		Ports:           []int{v.Executor, v.Dashboard},
		Emulated:        b.emulated(),
		NetplanOptional: strings.HasPrefix(l.Image.Name, "ubuntu 26.04"), // see limactl.Machine
	}
	var err error
	if m.Image, err = cache.Path(ctx, l.Image.Disk.Digest); err != nil {
		return m, err
	}
	if l.Image.Kernel != nil {
		m.Cmdline = l.Image.Kernel.Cmdline
		if m.Kernel, err = cache.Path(ctx, l.Image.Kernel.Digest); err != nil {
			return m, err
		}
	}
	if l.Image.Initrd != nil {
		m.Initrd, err = cache.Path(ctx, l.Image.Initrd.Digest)
	}
	return m, err
}

func (b *Box) emulated() bool { return vmType() == "qemu" && b.Lima.Acceleration().Slow() }

// bootBound is the longest that a boot may take; emulated CPUs need minutes.
const bootBound = 20 * time.Minute

// startVM boots the VM and reports what Lima logs meanwhile. The VM is up when the guest answers, whatever Lima
// reports.
func (b *Box) startVM(ctx context.Context, p *Progress) error {
	err := b.Lima.Start(ctx, b.Record.Instance, bootBound, func(e limactl.BootEvent) {
		if e.Line != "" {
			p.Log(e.Line)
		}
		if e.Waits != "" {
			p.Phase("", "waiting for "+e.Waits, "")
		}
	})
	var degraded *limactl.DegradedError
	if errors.As(err, &degraded) {
		p.Warn(degraded.Error()) // the VM is up; the next steps check whether it works
	} else if err != nil {
		return err
	}
	if err := b.Lima.Exec(ctx, b.Record.Instance, ssh.Exec{Args: []string{"true"}}); err != nil {
		return fault.New(fault.HealthFailed, "the VM is up, but logging in to it fails: %w", err).
			Hint("hermes-box logs boot")
	}
	return nil
}

// settleBound is the longest that services may take to become healthy after a start.
const settleBound = 10 * time.Minute

// settle waits until status would report the box as running, and returns the guest's status. It fails at once if
// waiting is useless: the VM has died, or systemd has given up on a service.
func (b *Box) settle(ctx context.Context, p *Progress) (*protocol.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	last := map[string]string{}
	silent := ""
	for {
		waiting := "not all components are known yet"
		status, err := b.guestStatus(ctx)
		if err != nil { // one status may fail: a loaded guest is slow to answer
			if dead := b.dead(ctx); dead != nil {
				return nil, dead
			}
			waiting = err.Error()
			p.Phase("", "no answer yet", "")
			if waiting != silent {
				silent = waiting
				p.Log("no answer yet: " + waiting)
			}
		} else {
			for _, c := range status.Components {
				if last[c.Name] != c.State {
					last[c.Name] = c.State
					p.Phase(c.Name, protocol.PhaseHealth, c.State)
				}
				if c.State != protocol.Healthy && c.State != protocol.SetupRequired {
					waiting = fmt.Sprintf("%s: %s, %s", c.Name, c.State, c.Detail)
				}
			}
			if err := cannotSettle(status); err != nil {
				return nil, err
			}
			if allHealthy(status) {
				b.remember(status)
				return status, nil
			}
		}
		select {
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, ctx.Err()
			}
			return nil, fault.New(fault.HealthFailed, "%s", waiting).
				Hint("to see why: hermes-box logs; to check everything: hermes-box doctor")
		case <-time.After(2 * time.Second):
		}
	}
}

// cannotSettle returns an error if the guest will not become healthy, however long settle waits; otherwise nil.
func cannotSettle(status *protocol.Status) error {
	switch {
	case status.DataProblem != "":
		return fault.New(fault.HealthFailed, "the data disk: %s", status.DataProblem).Hint("hermes-box doctor")
	case status.LockProblem != "":
		return fault.New(fault.HealthFailed, "the applied lock: %s", status.LockProblem).Hint("hermes-box doctor")
	}
	for _, c := range status.Components {
		if c.GivenUp {
			err := fault.New(fault.HealthFailed, "%s: %s, %s", c.Name, c.State, c.Detail).Hint("to see more: %s", logOf(c))
			if c.Log != "" {
				err.Detail("output", c.Log)
			}
			return err
		}
	}
	return nil
}

// dead returns an error if the VM of the box or its host agent has ended. It returns nil while both run, and if this
// user cannot see them or limactl fails.
func (b *Box) dead(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limaBound)
	defer cancel()
	in, err := b.instance(ctx)
	switch {
	case err != nil:
		return nil
	case in.State == limactl.Absent:
		return b.vmGone()
	case in.State == limactl.Stopped:
		in.Cause = "it is off"
	case in.State != limactl.Degraded || in.Hidden || !in.Dead && in.PID != 0:
		return nil
	}
	return fault.New(fault.HealthFailed, "the VM of box %q has died: %s", b.Name(), in.Cause).
		Hint("to see its last output: hermes-box logs boot")
}

// guestStatus asks the guest for its status: one round trip.
func (b *Box) guestStatus(ctx context.Context) (*protocol.Status, error) {
	var s protocol.Status
	if err := b.ask(ctx, protocol.VerbStatus, nil, &s, nil); err != nil {
		return nil, err
	}
	return &s, nil
}

// forwardBound is the default of Host.ForwardWait. The port forwards of a healthy box work much sooner.
const forwardBound = time.Minute

// forwarded waits until the ports of this machine lead into the box, as status judges it. If Lima cannot forward a
// port, it only writes that to its log.
func (b *Box) forwarded(ctx context.Context, guest *protocol.Status) error {
	limit := cmp.Or(b.ForwardWait, forwardBound)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ports := b.judgePorts(ctx, b.askPorts(ctx)(limit), guest, false)
		dead := deadForwards(ports)
		if dead == "" {
			return nil
		}
		for _, p := range ports {
			if p.State == PortTaken { // waiting does not free the port
				return fault.New(fault.HealthFailed, "%s", p.Problem()).Hint("%s", p.Repair())
			}
		}
		if err := b.dead(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fault.New(fault.HealthFailed, "box %q runs, but %s", b.Name(), dead).Hint("hermes-box restart; to check everything: hermes-box doctor")
		case <-time.After(time.Second):
		}
	}
}

// answers returns nil if an HTTP server answers, with any status. It sends OPTIONS, which costs the server less than a
// page.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodOptions, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
