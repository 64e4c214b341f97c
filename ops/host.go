package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hermes-box/limactl"
	"hermes-box/ops/artifact"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
	"hermes-box/ops/store"
)

// Host is the machine on which operations run.
type Host struct {
	Dir     string          // HERMES_BOX_HOME, whether or not it exists
	Lima    *limactl.Client // on Dir/lima
	Mirrors []string        // directories or base URLs asked first for artifacts
	Helper  func(arch string) ([]byte, error)
	// KeyStore is the store for the identity of a new box, as package keys names it; "" chooses one.
	KeyStore string
	// NoTimer says why no timer for backups is installed on this host; "" if timers are installed.
	NoTimer string
	// PassphraseWork is the work factor of age's scrypt for passphrases; 0 is age's default, about a second.
	PassphraseWork int
	// Patience is the longest time that an operation, or Doctor, waits in total for runs of limactl that do not answer;
	// 0 means the default, patience.
	Patience time.Duration
	// ForwardWait is how long create and start wait for the forwarded ports to work; 0 means the default, forwardBound.
	ForwardWait time.Duration
	// AfterStep, if set, is called after each successful step of any plan; crash tests end the process there.
	AfterStep func(step string)
}

// patience is the default of Host.Patience. A limactl that works answers in less than a second.
const patience = 20 * time.Second

// patient returns a context with which one operation waits for limactl no longer than Patience in total.
func (h *Host) patient(ctx context.Context) context.Context {
	return limactl.WithPatience(ctx, cmp.Or(h.Patience, patience))
}

// Box is the box that a command works on: the config and lock that the user wrote, and the host's record. Opening it
// changes nothing.
type Box struct {
	*Host
	Home    store.Home
	Config  *config.Config
	Lock    *lock.Lock // nil if it could not be loaded; then LockErr is set
	LockErr error
	Record  *store.Record // nil: there is no record of the box, or RecordErr says why it cannot be read
	// RecordErr is the error of reading the record. Only a Box from OpenDamaged has one.
	RecordErr error

	leftovers *Destroyed // what recovery removed after a create or restore that was cut off
	journal   *journal   // of the operation that this Box runs; nil if it runs none
	upgraded  bool       // the helper in the box is known to be this program's
}

// Open reads the config at path, the lock beside it and the host's record. An error of the lock is kept for the
// operations that need the lock; a record that belongs to another config directory is an error.
func (h *Host) Open(path string) (*Box, error) {
	b, err := h.OpenDamaged(path)
	if err != nil {
		return nil, err
	}
	if b.RecordErr != nil {
		return nil, b.RecordErr
	}
	return b, nil
}

// OpenDamaged is Open for commands that also work with a damaged record: Doctor and Logs.
func (h *Host) OpenDamaged(path string) (*Box, error) {
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	b := &Box{Host: h, Home: store.At(h.Dir), Config: cfg}
	b.Lock, b.LockErr = lock.Load(LockPath(cfg))
	if err := b.load(); fault.CodeOf(err) == fault.IntegrityFailed {
		b.RecordErr = err
	} else if err != nil {
		return nil, err
	}
	return b, nil
}

// load reads the host's record of the box.
func (b *Box) load() error {
	b.Record = nil
	rec, err := b.Home.Record(b.Name())
	switch {
	case errors.Is(err, store.ErrNoBox):
		return nil
	case err != nil:
		return err
	case rec.ConfigDir != b.Config.Dir:
		return fault.New(fault.AlreadyExists, "box %q belongs to %s, not to %s", b.Name(), rec.ConfigDir, b.Config.Dir).
			Hint("choose another name in %s, or work from %s", b.Config.Path, rec.ConfigDir).
			Detail("config_dir", rec.ConfigDir)
	}
	b.Record = rec
	return nil
}

// LockPath returns the path of the lock that belongs to a config.
func LockPath(cfg *config.Config) string { return filepath.Join(cfg.Dir, "hermes-box.lock") }

// Name returns the name of the box.
func (b *Box) Name() string { return b.Config.Name }

// restoreFileHint is the command for a machine that has no backups of the box yet. It needs no lock.
const restoreFileHint = "to restore it from an exported backup: hermes-box restore FILE --identity KEYFILE"

// exists returns an error if there is no box, or if its create was never finished.
func (b *Box) exists() error {
	hint := "to create it: hermes-box create"
	if b.Record == nil {
		hint += "; " + restoreFileHint
	}
	if b.Record == nil {
		if kept, _ := b.kept(); kept != nil {
			hint += "; to restore it from its newest backup: hermes-box restore " + kept.ID
		}
	}
	switch {
	case b.RecordErr != nil:
		return b.RecordErr
	case b.recordLost() != nil:
		return b.recordLost()
	case b.Record == nil && b.leftovers != nil:
		return fault.New(fault.NotFound, "box %q was never finished; the leftovers of its interrupted %s have been removed", b.Name(), b.leftovers.Operation).
			Hint("%s", hint).Detail("removed", b.leftovers)
	case b.Record == nil:
		return fault.New(fault.NotFound, "box %q does not exist", b.Name()).
			Hint("%s", hint)
	}
	if b.Record.Ready {
		return nil
	}
	u, err := b.underway()
	switch {
	case err != nil:
		return err
	case u == nil || u.Running && b.journal != nil: // this process holds the lock
		return fault.New(fault.NotFound, "box %q was never finished", b.Name()).Hint("to remove it: hermes-box destroy --force")
	case u.Running:
		return fault.New(fault.Busy, "box %q is being made: %s", b.Name(), u).Hint("%s; to see how far it is: hermes-box status", u.Repair)
	}
	return fault.New(fault.NotFound, "box %q was never finished: its %s", b.Name(), u).Hint("%s", u.Repair)
}

// instance asks Lima about the box's VM. A VM that does not exist has the state Absent; that is no error.
func (b *Box) instance(ctx context.Context) (limactl.Instance, error) {
	in, err := b.Lima.Instance(ctx, b.Record.Instance)
	if errors.Is(err, limactl.ErrNotFound) {
		return limactl.Instance{Name: b.Record.Instance, State: limactl.Absent}, nil
	}
	return in, err
}

// reachable returns an error if there is no box, or if its VM is certainly not running. Otherwise only ssh can show
// whether the guest answers, since limactl does not know.
func (b *Box) reachable(ctx context.Context) error {
	if err := b.exists(); err != nil {
		return err
	}
	switch b.Lima.Peek(b.Record.Instance) { // reading files is fast; if they say that nothing runs, limactl is asked
	case limactl.Running, limactl.Degraded, limactl.Starting:
		return nil
	}
	in, err := b.instance(ctx)
	switch {
	case err != nil:
		return err
	case gone(in):
		return b.vmGone()
	case in.State == limactl.Stopped:
		return fault.New(fault.PreflightFailed, "box %q is stopped", b.Name()).Hint("hermes-box start")
	}
	return nil
}

// unreached adds the state of the VM to the error of a connection that could not be made.
func (b *Box) unreached(ctx context.Context, err error) error {
	if !notReached(err) || ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limaBound)
	defer cancel()
	in, lookErr := b.instance(ctx)
	switch {
	case lookErr != nil || in.State == limactl.Running:
		return err
	case gone(in):
		return b.vmGone()
	case in.State == limactl.Stopped:
		return fault.New(fault.PreflightFailed, "box %q is stopped", b.Name()).Hint("hermes-box start")
	}
	hint := restartHint
	if in.State == limactl.Starting {
		hint = "wait for it; to see how far it is: hermes-box status"
	}
	return fault.New(fault.PreflightFailed, "box %q is %s: %s: %w", b.Name(), in.State, in.Cause, err).Hint("%s", hint)
}

// vmGone returns the error for a box whose VM no longer exists. It says what is left.
func (b *Box) vmGone() error {
	if !b.Lima.HasDisk(b.Record.Disk) {
		return fault.New(fault.NotFound, "the VM and the data disk of box %q are gone", b.Name()).
			Hint("to forget the box: hermes-box destroy --force; then, to make a new one: hermes-box create")
	}
	return fault.New(fault.NotFound, "the VM of box %q is gone; its data is kept on disk %s", b.Name(), b.Record.Disk).
		Hint("%s", b.rebuildHint())
}

// rebuildHint returns the hint for a box of which only the data disk is left.
func (b *Box) rebuildHint() string {
	const stays = "this version cannot make a new VM for the disk, and create does not touch it; the disk stays until it is destroyed"
	newest, err := b.kept()
	switch {
	case newest != nil:
		return fmt.Sprintf("%s; to go back to the newest backup, which loses what has changed since %s: hermes-box destroy --force; to restore it after that: hermes-box restore %s",
			stays, newest.Time.Local().Format(time.DateTime), newest.ID)
	case err != nil:
		return stays + "; to see its backups: hermes-box backup list"
	}
	return stays + ", and there is no backup; to delete it with all its data: hermes-box destroy --force"
}

// partialAge is how long an unfinished download is kept, so that a later fetch can continue it.
const partialAge = 7 * 24 * time.Hour

// change runs an operation: it takes the box's lock, recovers an earlier operation that was cut off, then runs the
// plan that prepare returns. With force it works even if nothing can be written to the state directory.
func (b *Box) change(ctx context.Context, name string, force bool, sink Sink, prepare func(context.Context) (Plan, error)) (err error) {
	operation, _ := OperationNamed(name)
	ctx = b.patient(ctx)
	held, err := b.lockBox(name, force)
	if err != nil {
		return err
	}
	defer func() {
		if unlockErr := held.Unlock(); err == nil {
			err = unlockErr
		}
		err = diskFull(err, b.Dir)
	}()
	if err := b.load(); err != nil { // another operation may have changed the record since Open
		return err
	}
	if err := b.recover(ctx, operation, sink); err != nil {
		return err
	}
	_ = artifact.Sweep(b.Home.Artifacts(), partialAge) // leftover files do no harm
	b.journal = newJournal(b.Home, b.Name(), name)
	defer func() { b.journal = nil }()
	plan, err := prepare(ctx)
	if err != nil {
		return err
	}
	plan.Operation, plan.Box, plan.BeforeStep, plan.AfterStep = name, b.Name(), b.journal.setStep, b.AfterStep
	if len(plan.Steps) == 0 { // without steps there is nothing to log
		return plan.Run(ctx, sink)
	}
	if operation.recover == nil { // the others begin and remove their journals in their steps
		_ = b.journal.begin() // not an error: this journal only shows where the operation was cut off
		defer b.journal.remove()
	}
	logged, done := b.logged(name, sink)
	defer done()
	return plan.Run(ctx, logged)
}

// lockBox opens the state directory for writing and takes the box's lock.
func (b *Box) lockBox(operation string, force bool) (*store.OpLock, error) {
	home, err := store.Open(b.Dir)
	if err == nil {
		b.Home = home
		held, lockErr := home.Lock(b.Name(), operation)
		if lockErr == nil || !force || fault.CodeOf(lockErr) == fault.Busy {
			return held, lockErr
		}
	}
	if !force {
		return nil, err
	}
	b.Home = store.OpenForced(b.Dir)
	return b.Home.LockForced(b.Name(), operation)
}

func (b *Box) openCache() (*artifact.Cache, error) {
	return artifact.Open(b.Home.Artifacts(), artifact.Options{Mirrors: b.Mirrors})
}

// vmType returns the vmType for VMs of this host in Lima.
func vmType() string {
	if runtime.GOOS == "darwin" {
		return "vz"
	}
	return "qemu"
}

// suffix returns ": " and the text, to append to an error; "" if the text is empty.
func suffix(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// lastLines returns the last n lines of a text.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
