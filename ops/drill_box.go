package ops

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"hermes-box/guest/protocol"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
)

// throwAwayName returns the name of the throw-away box for the drills of a box. A name has at most 32 characters.
func throwAwayName(box string) string {
	const suffix = "-drill"
	return box[:min(len(box), 32-len(suffix))] + suffix
}

// throwAway returns the throw-away box for the drills of this box, with these ports.
func (b *Box) throwAway(ports config.Ports) *Box {
	host, cfg := *b.Host, *b.Config
	host.Mirrors = append([]string{filepath.Join(b.Pool(), "artifacts")}, b.Mirrors...)
	cfg.Name, cfg.Dir, cfg.Ports = throwAwayName(b.Name()), b.drills(), ports
	return &Box{Host: &host, Home: b.Home, Config: &cfg}
}

// undoThrowAway removes a throw-away box that a killed drill has left.
func (b *Box) undoThrowAway(ctx context.Context) error {
	box := b.throwAway(config.Ports{})
	j, err := b.Home.Journal(box.Name())
	if err != nil || j == nil || j.Operation != "drill" {
		return err
	}
	held, err := b.Home.Lock(box.Name(), "drill")
	if err != nil {
		return err
	}
	defer held.Unlock()
	if err := box.load(); err != nil {
		return err
	}
	return box.undoCreate(ctx, j, Operation{Name: "drill"}, nil)
}

// DrillBox restores a backup into a throw-away box with its own name and ports, compares its data disk with the backup,
// installs and starts the software, and removes the throw-away box. That box has no network, so that two boxes never use
// the same login. An empty id means the newest backup. DrillBox writes a report, and returns an error if there is a
// difference.
func (b *Box) DrillBox(ctx context.Context, id string, sink Sink) (*Drill, error) {
	return b.drill(ctx, id, "box", sink, func(d *drill) (Plan, error) {
		t, err := d.newTrial()
		if err != nil {
			return Plan{}, err
		}
		open := []Step{
			{ID: "open", Title: "open the backup", Do: t.open},
			{ID: "preflight", Title: "check this machine", Do: t.preflight},
		}
		box := t.makeSteps(
			Step{ID: "claim", Title: "claim the name " + t.Name(), Do: t.claim, Undo: t.unclaim},
			Step{ID: "format", Title: "cut the network off, and format the data disk", Do: t.format})
		return Plan{Steps: slices.Concat(open, t.fetchSteps(), onTrial(slices.Concat(box, []Step{
			{ID: "bootstrap", Title: "prepare the guest", Do: t.bootstrap},
			{ID: "compare", Title: "read the data disk, and compare it with the backup", Do: t.compare},
			{ID: "upload", Title: "upload the software", Do: t.software.sendComponents, After: []string{"unpack"}, Phase: protocol.PhaseUpload},
			{ID: "install", Title: "install and start the software without a network", Do: t.install, Software: true},
		})), []Step{
			{ID: "report", Title: "write the report", Do: d.report},
		}, onTrial([]Step{{ID: "remove", Title: "remove the box", Do: t.remove}}))}, nil
	})
}

// onTrial returns steps on the throw-away box whose errors have no hint for that box: a command in such a hint would
// act on the box of the user.
func onTrial(steps []Step) []Step {
	for i, step := range steps {
		steps[i].Do = func(ctx context.Context, p *Progress) error {
			err := step.Do(ctx, p)
			if err == nil || !strings.Contains(fault.HintOf(err), "hermes-box ") {
				return err
			}
			return fault.New(fault.CodeOf(err), "%w", err).Hint("to see all of it: hermes-box logs operations; to try the backup without a box: hermes-box backup drill --files")
		}
	}
	return steps
}

// trial is the throw-away box of a drill. It is made as a restore makes a box, but without a key and a config.
type trial struct {
	restoration
	drill *drill
}

// newTrial returns the throw-away box, whose name is locked until the drill ends.
func (d *drill) newTrial() (*trial, error) {
	ports, err := twoPorts()
	if err != nil {
		return nil, err
	}
	box := d.throwAway(ports)
	if d.held, err = d.Home.Lock(box.Name(), "drill"); err != nil {
		return nil, fault.New(fault.CodeOf(err), "the drill needs the name %q: %w", box.Name(), err).
			Hint("wait for it to end; without a box: hermes-box backup drill --files")
	}
	if err := box.load(); err != nil {
		return nil, err
	}
	box.journal = newJournal(box.Home, box.Name(), "drill")
	t := &trial{drill: d}
	t.from.Backup, t.result = d.id, &Restored{}
	t.creation = creation{Box: box, result: &t.result.Created}
	if err := t.absent(); err != nil {
		return nil, fault.New(fault.AlreadyExists, "the drill needs the name %q: %w", box.Name(), err).
			Hint("rename that box; without a box: hermes-box backup drill --files")
	}
	t.software = t.deliver(nil, nil) // open sets the lock, and preflight the cache
	return t, nil
}

// twoPorts returns two free ports.
func twoPorts() (ports config.Ports, err error) {
	for _, port := range []*int{&ports.Executor, &ports.Dashboard} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // not before both ports are known, so that they differ
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// open opens the backup with the key of its box.
func (t *trial) open(ctx context.Context, p *Progress) error {
	if err := t.drill.open(ctx, p); err != nil {
		return err
	}
	t.bundle = t.drill.bundle
	return t.accept(&t.bundle.Header)
}

// claim begins the journals of the drill and of the throw-away box, and records that box.
func (t *trial) claim(ctx context.Context, p *Progress) error {
	if err := t.drill.journal.begin("box"); err != nil {
		return err
	}
	if err := t.journal.begin(); err != nil {
		return err
	}
	return t.creation.claim(ctx, p)
}

// unclaim is the last undo, and so it removes both journals.
func (t *trial) unclaim(ctx context.Context) error {
	if err := t.creation.unclaim(ctx); err != nil {
		return err
	}
	if err := t.journal.remove(); err != nil {
		return err
	}
	return t.drill.journal.remove()
}

// format cuts off the network of the box, before any file of the backup is in it, and formats the data disk.
func (t *trial) format(ctx context.Context, p *Progress) error {
	return t.prepareGuest(ctx, protocol.Bootstrap{Format: true, DataOnly: true, Offline: true}, p)
}

// bootstrap prepares the rest of the guest.
func (t *trial) bootstrap(ctx context.Context, p *Progress) error {
	return t.prepareGuest(ctx, protocol.Bootstrap{DataUUID: t.Record.DataUUID, Offline: true}, p)
}

// install installs and starts the software. A component that is not healthy without a network is a problem in the
// report, not an error: the backup may be good.
func (t *trial) install(ctx context.Context, p *Progress) error {
	r := t.drill.result
	err := t.creation.install(ctx, p)
	if err == nil {
		err = t.verify(ctx, p)
	}
	if fault.CodeOf(err) == fault.HealthFailed && ctx.Err() == nil {
		r.Problem = err.Error()
		p.Warn("without a network: " + r.Problem)
		err = nil
	}
	if err != nil {
		return err
	}
	status, err := t.guestStatus(ctx)
	if err != nil {
		return err
	}
	for _, c := range status.Components {
		r.Software = append(r.Software, DrilledComponent{c.Name, c.State})
	}
	return nil
}

// remove removes the box by its exact names.
func (t *trial) remove(ctx context.Context, _ *Progress) error {
	for _, undo := range []func(context.Context) error{t.removeVM, t.removeDisk, t.unclaim} {
		if err := undo(ctx); err != nil {
			return err
		}
	}
	return nil
}
