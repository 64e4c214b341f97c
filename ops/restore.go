package ops

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"filippo.io/age"

	"hermes-box/guest/protocol"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
	"hermes-box/ops/lock"
	"hermes-box/ops/suspect"
)

// RestoreFrom holds the sources of a restore: the backup, the keys that open it, and the lock.
type RestoreFrom struct {
	Backup     string         // names a listed backup as for ShowBackup, or is the path of an exported one: see IsExported
	Identities []age.Identity // open the backup instead of the identity of the box
	Passphrase string         // of hermes-box key add-passphrase, to open a listed backup without an identity; "" for none
	Lock       string         // path of a lock to install instead of the one in the backup; "" for none
}

// IsExported reports whether the argument that a user gave for a backup is an exported file and not a listed backup. A
// complete id counts as a listed backup, even if none has it. If the argument is neither, IsExported returns an error.
func (b *Box) IsExported(given string) (bool, error) {
	if _, _, err := backup.ParseID(given); err == nil {
		return false, nil
	}
	_, err := b.backupNamed(given)
	if err == nil {
		return false, nil
	}
	if fault.CodeOf(err) == fault.InvalidInput || given == Latest {
		return false, err
	}
	if _, err := os.Stat(given); errors.Is(err, fs.ErrNotExist) {
		if strings.ContainsAny(given, "/.") {
			return false, fault.New(fault.NotFound, "there is no file %q", given).
				Hint("give the path of an exported backup; to list the backups on this machine: hermes-box backup list")
		}
		return false, fault.New(fault.NotFound, "there is no backup and no file %q", given).Hint("hermes-box backup list")
	}
	return true, nil
}

// Restored is the result of Restore.
type Restored struct {
	Created
	Backup   string              `json:"backup"`    // its id
	File     string              `json:"file"`      // the exported file; empty for a listed backup
	NewKey   bool                `json:"new_key"`   // a new key was made for the box
	Time     time.Time           `json:"time"`      // when the backup was made
	OldBox   string              `json:"old_box"`   // the name of the box that was backed up
	Entries  int                 `json:"entries"`   // files in the box, all of them compared with the backup
	Bytes    int64               `json:"bytes"`     // of data
	Missing  int                 `json:"missing"`   // files that the backup does not have, because they could not be read
	Lost     []protocol.LostPart `json:"lost"`      // attributes of files that could not be restored
	Drift    []Drifted           `json:"drift"`     // how the installed lock differs from the one beside the config
	Suspects []suspect.Entry     `json:"suspects"`  // MCP servers in the settings of the agents that look like an attack
	LockFile string              `json:"lock_file"` // the lock that was written, because there was none beside the config
}

// restoration is one run of Restore. It makes a box as create does, with the data of a backup on its data disk.
type restoration struct {
	creation
	from   RestoreFrom
	header *backup.Header
	pool   *backup.Pool   // of the backups of the box; nil until they are opened
	bundle *backup.Bundle // nil until the backup is loaded
	result *Restored
}

// Restore makes a new box from a backup, with the software of the lock in the backup. The box must not exist. Before it
// makes anything, Restore checks the whole backup and fetches all software into the cache. After a failure or an
// interruption it removes exactly what it has made.
func (b *Box) Restore(ctx context.Context, from RestoreFrom, sink Sink) (*Restored, error) {
	host, box := *b.Host, *b // copies, which get another lock and more mirrors
	box.Host = &host
	host.Mirrors = append([]string{filepath.Join(b.Pool(), "artifacts")}, b.Mirrors...)
	r := &restoration{from: from}
	r.result = &Restored{Lost: []protocol.LostPart{}, Drift: []Drifted{}, Suspects: []suspect.Entry{}}
	r.creation = creation{Box: &box, result: &r.result.Created, again: "then run the same command again",
		exists: "to back it up and remove it: hermes-box destroy"}
	defer func() {
		if r.bundle != nil {
			r.bundle.Close()
		}
	}()
	err := box.change(ctx, "restore", false, sink, r.plan)
	b.Record, b.leftovers = box.Record, box.leftovers
	if err != nil {
		return nil, r.afterwards(err)
	}
	if b.Lock != nil {
		drift := lock.Compare(box.Lock, b.Lock)
		r.result.Drift = append(r.result.Drift, changes(append(drift.Platform, drift.Components...))...)
	}
	return r.result, nil
}

func (r *restoration) plan(context.Context) (Plan, error) {
	if err := r.absent(); err != nil {
		return Plan{}, err
	}
	exported, err := r.IsExported(r.from.Backup)
	if err != nil {
		return Plan{}, err
	}
	if !exported {
		if id, err := r.backupNamed(r.from.Backup); err == nil { // else open says what is wrong
			r.from.Backup = id
		}
	}
	r.software = r.deliver(nil, nil) // the first step sets the lock, and preflight the cache
	open := []Step{
		{ID: "open", Title: "open the backup", Do: r.open},
		{ID: "preflight", Title: "check this machine", Do: r.preflight},
		{ID: "check", Title: "read the whole backup and compare each file", Do: r.check},
	}
	key := []Step{{ID: "key", Title: "make the key of its backups", Do: r.makeKey, Undo: r.unmakeKey}}
	if exported {
		r.result.File = r.from.Backup
		open = []Step{
			{ID: "check", Title: "read the whole file and compare each file in it", Do: r.examine},
			{ID: "preflight", Title: "check this machine", Do: r.preflight},
		}
		// The undo of the key also removes what import has made.
		key = append(key, Step{ID: "import", Title: "add the backup to those of the box", Do: r.importFile})
	}
	box := r.makeSteps(
		Step{ID: "claim", Title: "claim the name", Do: r.claim, Undo: r.unclaim},
		Step{ID: "format", Title: "format the data disk", Do: r.format})
	return Plan{Steps: slices.Concat(open, r.fetchSteps(), key, box, []Step{
		{ID: "bootstrap", Title: "prepare the guest", Do: r.bootstrap},
		{ID: "upload", Title: "upload the software", Do: r.software.sendComponents, After: []string{"unpack"}, Phase: protocol.PhaseUpload},
		{ID: "install", Title: "install and check the software", Do: r.install, After: []string{"bootstrap"}, Software: true},
		{ID: "verify", Title: "check the box from outside", Do: r.verify},
		{ID: "finish", Title: "record the box", Do: r.finish},
	})}, nil
}

// fetchSteps returns the steps that fetch everything before the box is made.
func (r *restoration) fetchSteps() []Step {
	return []Step{
		{ID: "image", Title: "fetch the OS image", Do: r.software.fetchImage},
		{ID: "fetch", Title: "fetch the software", Do: r.software.fetchSoftware, Phase: PhaseVerify},
	}
}

// makeSteps returns the steps that make the box, up to the files of the backup on its data disk. A drill claims the
// name and formats the disk in its own way.
func (r *restoration) makeSteps(claim, format Step) []Step {
	return []Step{
		claim,
		{ID: "disk", Title: "make the data disk", Do: r.makeDisk, Undo: r.removeDisk},
		{ID: "vm", Title: "make the VM", Do: r.makeVM, Undo: r.removeVM},
		{ID: "boot", Title: "boot the VM", Do: r.boot},
		{ID: "helper", Title: "put the helper into the box", Do: r.putHelper},
		format,
		{ID: "unpack", Title: "write the files of the backup", Do: r.unpack},
	}
}

// open opens a listed backup, and checks what its header says.
func (r *restoration) open(ctx context.Context, p *Progress) error {
	err := r.openListed(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "there are no backups of box %q in %s: %w", r.Name(), r.Pool(), err).Hint("hermes-box backup list")
	}
	if err != nil {
		return err
	}
	for _, what := range r.pool.Repaired {
		p.Warn(what)
	}
	if r.bundle, err = r.pool.Load(ctx, r.from.Backup); err != nil {
		return err
	}
	return r.accept(&r.bundle.Header)
}

// openListed opens the backups of the box, with the passphrase if the user gave it.
func (r *restoration) openListed(ctx context.Context) (err error) {
	identities := []age.Identity(nil)
	if r.from.Passphrase == "" {
		if identities, err = r.identities(ctx); err != nil {
			return err
		}
	}
	r.pool, err = r.openWith(identities, r.from.Passphrase, "hermes-box restore "+shellescape.Quote(r.from.Backup))
	return err
}

// identities returns the identities that open the backup: those that the user gave or, if there are none, the identity
// of the box.
func (r *restoration) identities(ctx context.Context) ([]age.Identity, error) {
	if len(r.from.Identities) > 0 {
		return r.from.Identities, nil
	}
	record, err := keys.Read(r.Home, r.Name())
	var own *age.X25519Identity
	if err == nil {
		own, err = r.identity(ctx, record)
	}
	if errors.Is(err, keys.ErrNoKey) || errors.Is(err, keys.ErrNotFound) {
		hint, command := "", "hermes-box restore "+shellescape.Quote(r.from.Backup)
		if r.result.File == "" && r.hasPassphrase() {
			hint = "with the passphrase: " + command + " --passphrase; "
		}
		return nil, fault.New(fault.NotFound, "the key that opens the backups of box %q is not on this machine: %w", r.Name(), err).
			Hint("%swith an exported key: %s --identity FILE", hint, command)
	}
	if err != nil {
		return nil, err
	}
	return []age.Identity{own}, nil
}

// accept checks that this machine can hold the backup, and takes the lock from it unless the user gave one.
func (r *restoration) accept(h *backup.Header) error {
	r.header = h
	r.result.Backup, r.result.Time, r.result.OldBox, r.result.Missing = h.ID, h.Time, h.Box, h.Summary.Problems
	if h.Arch != guestArch {
		return fault.New(fault.PreflightFailed, "the backup %s is of a box for %s, this machine runs boxes for %s", h.ID, cmp.Or(h.Arch, "an unknown architecture"), guestArch).
			Hint("restore it on a machine of that architecture")
	}
	if need := h.Summary.Bytes; need > r.Config.VM.DataDisk {
		return fault.New(fault.PreflightFailed, "the backup %s has %s of data, the data disk would have %s", h.ID, size(need), size(r.Config.VM.DataDisk)).
			Hint("set a larger vm.data_disk in %s", r.Config.Path)
	}
	need := h.Summary.Bytes
	if r.result.File != "" { // the backup is stored here too
		need *= 2
	}
	if err := r.roomFor(need); err != nil {
		return err
	}
	var err error
	switch {
	case r.from.Lock != "":
		r.Lock, err = lock.Load(r.from.Lock)
	case h.Lock == "":
		err = fault.New(fault.IntegrityFailed, "the backup %s has no lock", h.ID).Hint("hermes-box restore %s --lock FILE", shellescape.Quote(r.from.Backup))
	default:
		r.Lock, err = lock.Parse("the lock in the backup "+h.ID, []byte(h.Lock))
	}
	r.LockErr, r.software.lock = nil, r.Lock
	return err
}

// check reads the whole backup, and compares each file with its digest.
func (r *restoration) check(ctx context.Context, p *Progress) error {
	total := r.bundle.Summary.Bytes
	report, err := r.pool.Verify(ctx, r.bundle.ID, func(done int64) { p.Bytes(done, total) })
	if err != nil {
		return err
	}
	p.Log("the backup is good: digest " + report.Digest)
	r.result.Suspects = r.suspects(ctx, r.pool, r.bundle, nil, p)
	return ctx.Err()
}
