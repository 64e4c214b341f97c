package ops

import (
	"cmp"
	"context"
	"errors"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
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
	Key        *KeyPlace                   `json:"key"`
	Backup     *BackupMade                 `json:"backup,omitempty"` // the first one; nil if it could not be made
}

// create makes the box: its key, data disk, VM, guest, software, in that order, and checks that it is healthy.
// Artifacts are fetched while the VM boots, and installed as they arrive in the box. After a failure or an interruption
// create removes exactly what it has made; complete artifacts stay in the cache. If the box exists already, create
// returns an error and changes nothing.
func (b *Box) create(ctx context.Context, sink Sink) (*Created, error) {
	c := &creation{Box: b, result: &Created{}, again: "to try again: hermes-box create"}
	err := b.change(ctx, "create", false, sink, c.plan)
	if err != nil {
		return nil, c.afterwards(err)
	}
	return c.result, nil
}

// afterwards replaces a hint that points into the deleted box, whose own logs no longer exist.
func (c *creation) afterwards(err error) error {
	var lost *ssh.TransportError
	if c.Record != nil || fault.CodeOf(err) != fault.HealthFailed && !errors.As(err, &lost) {
		return err
	}
	return fault.New(fault.CodeOf(err), "%w", err).Hint("to see all of it: hermes-box logs operations; %s", c.again)
}

// creation is one run of create, or the part of a restore or a drill that makes a box.
type creation struct {
	*Box
	software *delivery
	result   *Created
	again    string // the end of a hint after a failure
	exists   string // the hint if there is a box; "" means the hint of create
}

// absent returns an error if there is a box.
func (c *creation) absent() error {
	switch {
	case c.Record == nil:
		return nil
	case c.Record.Ready && c.Lima.Peek(c.Record.Instance) == limactl.Absent:
		return fault.New(fault.AlreadyExists, "%w", c.vmGone()).Hint("%s", fault.HintOf(c.vmGone()))
	}
	return fault.New(fault.AlreadyExists, "box %q exists already", c.Name()).
		Hint("%s", cmp.Or(c.exists, "to start it: hermes-box start; to see it: hermes-box status"))
}

func (c *creation) plan(context.Context) (Plan, error) {
	if err := c.absent(); err != nil {
		return Plan{}, err
	}
	c.software = c.deliver(c.Lock, nil)
	return Plan{Steps: []Step{
		{ID: "preflight", Title: "check this machine", Do: c.preflight},
		{ID: "key", Title: "make the key of its backups", Do: c.makeKey, Undo: c.unmakeKey},
		{ID: "claim", Title: "claim the name", Do: c.claim, Undo: c.unclaim},
		{ID: "image", Title: "fetch the OS image", Do: c.software.fetchImage},
		{ID: "disk", Title: "make the data disk", Do: c.makeDisk, Undo: c.removeDisk},
		{ID: "vm", Title: "make the VM", Do: c.makeVM, Undo: c.removeVM},
		{ID: "boot", Title: "boot the VM", Do: c.boot},
		{ID: "fetch", Title: "fetch the software", Do: c.software.fetchSoftware, After: []string{"vm"}, Phase: PhaseVerify},
		{ID: "helper", Title: "put the helper into the box", Do: c.putHelper},
		{ID: "bootstrap", Title: "prepare the guest", Do: c.bootstrap},
		{ID: "upload", Title: "upload the software", Do: c.software.sendComponents, After: []string{"helper"}, Phase: protocol.PhaseUpload},
		{ID: "install", Title: "install and check the software", Do: c.install, After: []string{"bootstrap"}, Software: true},
		{ID: "verify", Title: "check the box from outside", Do: c.verify},
		{ID: "finish", Title: "record the box", Do: c.finish},
		{ID: "backup", Title: "make a first backup", Do: c.firstBackup},
	}}, nil
}

// unlessForeign removes a thing from the journal if err is ErrExists: another program has made the thing since
// preflight, and an undo must not delete it.
func (c *creation) unlessForeign(what string, err error) error {
	if !errors.Is(err, limactl.ErrExists) {
		return err
	}
	return errors.Join(err, c.journal.notMade(what))
}

func (c *creation) makeKey(ctx context.Context, p *Progress) error {
	if err := c.journal.begin(); err != nil {
		return err
	}
	r, err := c.Box.makeKey(ctx, false, func() error { return c.journal.making(madeKey) }, p)
	if err != nil {
		return err
	}
	c.result.Key = c.place(r)
	return nil
}

// unmakeKey undoes makeKey. It is the last undo of a create, and so it removes the journal.
func (c *creation) unmakeKey(ctx context.Context) error {
	if err := c.undoKey(keys.Silent(ctx), c.journal.all()); err != nil {
		return err
	}
	return c.journal.remove()
}

func (c *creation) claim(context.Context, *Progress) error {
	if err := c.journal.making(madeRecord); err != nil {
		return err
	}
	c.Record = &store.Record{
		Name: c.Name(), ConfigDir: c.Config.Dir,
		Instance: c.Name(), Disk: dataDisk(c.Name()),
		Machine: c.desired(), Created: time.Now().UTC(),
	}
	return c.Home.SaveRecord(c.Record)
}

func (c *creation) unclaim(context.Context) error {
	if !c.journal.made(madeRecord) {
		return nil
	}
	c.Record = nil
	return c.Home.RemoveRecord(c.Name())
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

// putHelper sends the helper and the packages that bootstrap installs. The upload step would send the packages too
// late, since it runs at the same time as bootstrap.
func (c *creation) putHelper(ctx context.Context, p *Progress) error {
	if _, err := c.ensureHelper(ctx); err != nil {
		return err
	}
	return c.software.sendPackages(ctx, p)
}

func (c *creation) bootstrap(ctx context.Context, p *Progress) error {
	return c.prepareGuest(ctx, protocol.Bootstrap{Format: true}, p)
}

// prepareGuest fills in the rest of the request, runs the bootstrap in the guest, and records the data disk. If Format
// is set, the disk must have been blank.
func (c *creation) prepareGuest(ctx context.Context, request protocol.Bootstrap, p *Progress) error {
	request.Box, request.DataDevice, request.Ports = c.Name(), "/dev/vdb", c.Ports()
	for _, pkg := range c.Lock.Packages {
		request.Packages = append(request.Packages, protocol.Package{Name: pkg.Name, Version: pkg.Version, Digest: pkg.Artifact.Digest})
	}
	var answer protocol.Bootstrapped
	if err := c.ask(ctx, protocol.VerbBootstrap, request, &answer, relay(p)); err != nil {
		return err
	}
	if request.Format && !answer.Formatted {
		return fault.New(fault.IntegrityFailed, "the new data disk of box %q was not blank", c.Name()).
			Hint("to see what is there: hermes-box doctor")
	}
	c.Record.DataUUID, c.result.DataUUID = answer.DataUUID, answer.DataUUID
	return c.Home.SaveRecord(c.Record)
}

func (c *creation) install(ctx context.Context, p *Progress) error {
	// Only a new connection gets the environment that bootstrap has written.
	if err := c.Lima.Reconnect(ctx, c.Record.Instance); err != nil {
		return err
	}
	applied, err := c.software.apply(ctx, true, p) // the upload runs at the same time
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
	status.Lock = "" // the result needs no copy of the lock
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

// firstBackup backs up the finished box. A failure or an interruption is only a warning, and the box stays.
func (c *creation) firstBackup(ctx context.Context, p *Progress) error {
	made := newBackup()
	for _, s := range c.backupSteps("first", false, made) {
		err := guarded(func() error { return s.Do(ctx, p) })
		switch {
		case ctx.Err() != nil:
			p.Warn("the box is ready, but its first backup was interrupted; to make it: hermes-box backup")
			return nil
		case err != nil:
			p.Warn("the box is ready, but its first backup failed: " + err.Error() + "; to make one: hermes-box backup")
			return nil
		}
	}
	c.result.Backup = made
	return nil
}
