package ops

import (
	"context"
	"errors"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Created is the result of create.
type Created struct {
	Instance   string                      `json:"instance"`
	Disk       string                      `json:"disk"`
	DataUUID   string                      `json:"data_uuid"`
	Components []protocol.AppliedComponent `json:"components"`
	Emulated   bool                        `json:"emulated"` // no hardware virtualization: slow
	Status     *protocol.Status            `json:"status"`
}

// create makes the box: data disk, VM, guest, software, in that order, and proves it healthy. Artifacts are fetched
// while the VM boots, and installed as they arrive in the box. On failure or interruption exactly what it made is
// removed again; complete artifacts stay in the cache. A box that exists is refused and not changed.
func (b *Box) create(ctx context.Context, sink Sink) (*Created, error) {
	c := &creation{Box: b, result: &Created{}}
	err := b.change(ctx, "create", false, sink, c.plan)
	if err != nil {
		return nil, c.afterwards(err)
	}
	return c.result, nil
}

// afterwards replaces a hint that points into the deleted box: the box's own logs went with it.
func (c *creation) afterwards(err error) error {
	var lost *ssh.TransportError
	if c.Record != nil || fault.CodeOf(err) != fault.HealthFailed && !errors.As(err, &lost) {
		return err
	}
	return fault.New(fault.CodeOf(err), "%w", err).Hint("hermes-box logs operations shows all of it; hermes-box create tries again")
}

// creation is one run of create.
type creation struct {
	*Box
	software *delivery
	result   *Created
}

func (c *creation) plan(context.Context) (Plan, error) {
	if c.Record != nil {
		if c.Record.Ready && c.Lima.Peek(c.Record.Instance) == limactl.Absent {
			return Plan{}, fault.New(fault.AlreadyExists, "%w", c.vmGone()).Hint("%s", fault.HintOf(c.vmGone()))
		}
		return Plan{}, fault.New(fault.AlreadyExists, "box %q exists already", c.Name()).
			Hint("hermes-box start starts it; hermes-box status shows it")
	}
	c.software = c.deliver(c.Lock, nil)
	return Plan{Steps: []Step{
		{ID: "preflight", Title: "check this machine", Do: c.preflight},
		{ID: "claim", Title: "claim the name", Do: c.claim, Undo: c.unclaim},
		{ID: "image", Title: "fetch the OS image", Do: c.software.fetchImage},
		{ID: "disk", Title: "make the data disk", Do: c.makeDisk, Undo: c.removeDisk},
		{ID: "vm", Title: "make the VM", Do: c.makeVM, Undo: c.removeVM},
		{ID: "boot", Title: "boot the VM", Do: c.boot},
		{ID: "fetch", Title: "fetch the software", Do: c.software.fetchSoftware, After: []string{"vm"}, Phase: PhaseVerify},
		{ID: "helper", Title: "put the helper into the box", Do: c.putHelper},
		{ID: "bootstrap", Title: "prepare the guest", Do: c.bootstrap},
		{ID: "upload", Title: "upload the software", Do: c.software.sendComponents, After: []string{"helper"}, Phase: protocol.PhaseUpload},
		{ID: "install", Title: "install and prove the software", Do: c.install, After: []string{"bootstrap"}, Software: true},
		{ID: "verify", Title: "check the box from outside", Do: c.verify},
		{ID: "finish", Title: "record the box", Do: c.finish},
	}}, nil
}

// unlessForeign removes a thing from the journal if it already existed: another program has made it since preflight,
// and an undo must not delete it.
func (c *creation) unlessForeign(what string, err error) error {
	if !errors.Is(err, limactl.ErrExists) {
		return err
	}
	return errors.Join(err, c.journal.notMade(what))
}

func (c *creation) claim(context.Context, *Progress) error {
	if err := c.journal.begin(madeRecord); err != nil {
		return err
	}
	c.Record = &store.Record{
		Name: c.Name(), ConfigDir: c.Config.Dir,
		Instance: c.Name(), Disk: c.Name() + "-data",
		Machine: c.desired(), Created: time.Now().UTC(),
	}
	return c.Home.SaveRecord(c.Record)
}

func (c *creation) unclaim(context.Context) error {
	if !c.journal.made(madeRecord) {
		return nil
	}
	c.Record = nil
	if err := c.Home.RemoveRecord(c.Name()); err != nil {
		return err
	}
	return c.journal.remove()
}

func (c *creation) makeDisk(ctx context.Context, _ *Progress) error {
	if err := c.journal.making(madeDisk); err != nil {
		return err
	}
	return c.unlessForeign(madeDisk, c.Lima.CreateDisk(ctx, c.Record.Disk, c.Config.VM.DataDisk))
}

func (c *creation) removeDisk(ctx context.Context) error {
	return c.undoMade(ctx, madeDisk)
}

func (c *creation) makeVM(ctx context.Context, p *Progress) error {
	machine, err := c.machine(ctx, c.software.cache)
	if err != nil {
		return err
	}
	c.result.Emulated = machine.Emulated
	yaml, err := machine.YAML()
	if err != nil {
		return err
	}
	if err := c.journal.making(madeVM); err != nil {
		return err
	}
	return c.unlessForeign(madeVM, c.Lima.Create(ctx, c.Record.Instance, yaml))
}

func (c *creation) removeVM(ctx context.Context) error {
	return c.undoMade(ctx, madeVM)
}

// undoMade removes a thing if the journal names it as made by this create.
func (c *creation) undoMade(ctx context.Context, what string) error {
	if c.Record == nil || !c.journal.made(what) {
		return nil
	}
	return c.removeMade(ctx, what, c.Record)
}

func (c *creation) boot(ctx context.Context, p *Progress) error {
	return c.startVM(ctx, p)
}

// putHelper makes the guest able to answer, and sends the packages that bootstrap installs: the upload that runs beside
// bootstrap would make it wait for them.
func (c *creation) putHelper(ctx context.Context, p *Progress) error {
	if _, err := c.ensureHelper(ctx); err != nil {
		return err
	}
	return c.software.sendPackages(ctx, p)
}

func (c *creation) bootstrap(ctx context.Context, p *Progress) error {
	request := protocol.Bootstrap{
		Box: c.Name(), DataDevice: "/dev/vdb", Format: true, Ports: c.Ports(),
	}
	for _, pkg := range c.Lock.Packages {
		request.Packages = append(request.Packages, protocol.Package{Name: pkg.Name, Version: pkg.Version, Digest: pkg.Artifact.Digest})
	}
	var answer protocol.Bootstrapped
	if err := c.ask(ctx, protocol.VerbBootstrap, request, &answer, relay(p)); err != nil {
		return err
	}
	if !answer.Formatted {
		return fault.New(fault.IntegrityFailed, "the new data disk of box %q was not blank", c.Name()).
			Hint("hermes-box doctor shows what is there")
	}
	c.Record.DataUUID, c.result.DataUUID = answer.DataUUID, answer.DataUUID
	return c.Home.SaveRecord(c.Record)
}

func (c *creation) install(ctx context.Context, p *Progress) error {
	if err := c.Lima.Reconnect(ctx, c.Record.Instance); err != nil { // the environment of the box is there since bootstrap
		return err
	}
	applied, err := c.software.apply(ctx, true, p) // the upload runs beside it
	if err != nil {
		return err
	}
	c.result.Components = applied.Components
	return nil
}

func (c *creation) verify(ctx context.Context, p *Progress) error {
	status, err := c.settle(ctx, p)
	if err != nil {
		return err
	}
	status.Lock = "" // nobody who reads the result wants a copy of the file
	c.result.Status = status
	return c.forwarded(ctx, status)
}

func (c *creation) finish(context.Context, *Progress) error {
	c.Record.Ready = true
	c.result.Instance, c.result.Disk = c.Record.Instance, c.Record.Disk
	if err := c.Home.SaveRecord(c.Record); err != nil {
		return err
	}
	return c.journal.remove()
}
