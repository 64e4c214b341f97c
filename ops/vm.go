package ops

import (
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

// startVM boots the VM and reports what Lima says meanwhile. The VM is up when the guest answers, whatever Lima says.
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
		return fault.New(fault.HealthFailed, "the VM is up but nobody can log in: %w", err).
			Hint("hermes-box logs boot")
	}
	return nil
}

// settleBound is the longest that services may take to become healthy after a start.
const settleBound = 10 * time.Minute

// settle waits until status would call the box running, and returns the guest's status. It fails at once for what
// cannot become healthy: a VM that has died, or a service that systemd has given up on.
func (b *Box) settle(ctx context.Context, p *Progress) (*protocol.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	last := map[string]string{}
	silent := ""
	for {
		waiting := "not all components are known yet"
		status, err := b.guestStatus(ctx)
		if err != nil { // one question may fail: a loaded guest is slow to answer
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
			if err := hopeless(status); err != nil {
				return nil, err
			}
			if sound(status) {
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
				Hint("hermes-box logs shows why; hermes-box doctor checks everything")
		case <-time.After(2 * time.Second):
		}
	}
}

// hopeless returns an error if the guest cannot become healthy by waiting; otherwise nil.
func hopeless(status *protocol.Status) error {
	switch {
	case status.DataProblem != "":
		return fault.New(fault.HealthFailed, "the data disk: %s", status.DataProblem).Hint("hermes-box doctor")
	case status.LockProblem != "":
		return fault.New(fault.HealthFailed, "the applied lock: %s", status.LockProblem).Hint("hermes-box doctor")
	}
	for _, c := range status.Components {
		if c.GivenUp {
			err := fault.New(fault.HealthFailed, "%s: %s, %s", c.Name, c.State, c.Detail).Hint("%s shows more", logOf(c))
			if c.Log != "" {
				err.Detail("output", c.Log)
			}
			return err
		}
	}
	return nil
}

// dead returns an error if the VM of the box or its host agent has ended; nil while both run, and if limactl cannot
// tell.
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
	case in.State != limactl.Degraded || !in.Dead && in.PID != 0:
		return nil
	}
	return fault.New(fault.HealthFailed, "the VM of box %q has died: %s", b.Name(), in.Cause).
		Hint("hermes-box logs boot shows its last words")
}

// guestStatus asks the guest for its status: one ssh round trip.
func (b *Box) guestStatus(ctx context.Context) (*protocol.Status, error) {
	var s protocol.Status
	if err := b.ask(ctx, protocol.VerbStatus, nil, &s, nil); err != nil {
		return nil, err
	}
	return &s, nil
}

// forwardBound is the longest that the port forwards of a healthy box may take to work.
const forwardBound = time.Minute

// forwarded waits until the ports of this machine lead into the box, as status judges it. Lima only logs it when it
// cannot forward a port.
func (b *Box) forwarded(ctx context.Context, guest *protocol.Status) error {
	ctx, cancel := context.WithTimeout(ctx, forwardBound)
	defer cancel()
	for {
		ports := b.judgePorts(ctx, b.askPorts(ctx)(forwardBound), guest, false)
		dead := deadForwards(ports)
		if dead == "" {
			return nil
		}
		for _, p := range ports {
			if p.State == PortTaken { // waiting does not free the port
				return fault.New(fault.HealthFailed, "%s", p.Problem()).Hint("%s", p.Repair())
			}
		}
		select {
		case <-ctx.Done():
			return fault.New(fault.HealthFailed, "box %q runs, but %s", b.Name(), dead).Hint("hermes-box restart; hermes-box doctor checks everything")
		case <-time.After(time.Second):
		}
	}
}

// answers returns nil if an HTTP server answers, with any status.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
