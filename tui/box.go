package tui

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"

	"filippo.io/age"

	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
	"hermes-box/ops/lock"
)

// Box is the box that the dashboard shows and changes. All methods but Known may take long. Those with a context return
// when it ends. All may be called at the same time.
type Box interface {
	// Known reads the host's files. It starts no process and does not wait.
	Known() Known
	Status(ctx context.Context) (*ops.Status, error)
	// Do runs an operation by its name, and returns its result as ops.Box.Do does.
	Do(ctx context.Context, operation string, force bool, sink ops.Sink) (any, error)
	// VerifyBackup reads a whole backup. It calls progress with the number of bytes read so far.
	VerifyBackup(ctx context.Context, id string, progress func(done int64)) (*backup.Report, error)
	// DeleteBackup deletes a backup, but never the only good one of its data disk.
	DeleteBackup(ctx context.Context, id string, sink ops.Sink) error
	// ExportBackup writes a backup into a new file of this machine, encrypted for the recipients of the backups.
	ExportBackup(ctx context.Context, id, path string, sink ops.Sink) (*ops.BackupExported, error)
	// GetFile copies a file or a directory out of a backup into a directory of this machine.
	GetFile(ctx context.Context, id, path, dir string, sink ops.Sink) (*ops.BackupGot, error)
	// Drill restores a backup as a trial, into a throw-away box or into a directory of this machine, compares the result
	// with the backup, and removes it again.
	Drill(ctx context.Context, id string, intoBox bool, sink ops.Sink) (*ops.Drill, error)
	// ShowBackup lists the files of a backup.
	ShowBackup(ctx context.Context, id string) (*ops.BackupShown, error)
	// NeedsPassphrase reports whether a passphrase opens an exported file; otherwise an identity does.
	NeedsPassphrase(file string) (bool, error)
	// Restore makes the box from a listed backup or from an exported file. There must be no box.
	Restore(ctx context.Context, from RestoreFrom, sink ops.Sink) (*ops.Restored, error)
	// Doctor runs the checks. It calls each when a check begins, with the verdict ops.Looking, and again with the result.
	// Without a box it runs the checks of create.
	Doctor(ctx context.Context, each func(ops.Check)) error
	Logs(ctx context.Context, source string, lines int, follow bool, out io.Writer) error
	// Open returns the address of a service of a running box: executor or dashboard.
	Open(ctx context.Context, service string) (string, error)
	// Attach returns the command of a session in the box, not started.
	Attach(ctx context.Context) (*exec.Cmd, error)
}

// RestoreFrom is a backup to make a box from. If Identity and Passphrase are empty, the identity of the box opens it.
type RestoreFrom struct {
	Backup     string // ID of a listed backup, or path of an exported one
	Identity   string // path of a file with an age identity that opens the backup; may be empty
	Passphrase string // opens an exported backup; may be empty
}

// Known holds what the host's files say about the box.
type Known struct {
	Err    error // the config or the record of the box cannot be read: the rest is empty
	Name   string
	Config string // path of hermes-box.yaml
	Exists bool   // the host has a record of the box
	Ready  bool   // its create was finished
	Lock   *lock.Lock
	// Machine describes the VM that create makes: "4 CPUs, 8GiB of memory, ...".
	Machine string
	Status  *ops.Status
	Created time.Time // when the box was made; zero if there is none

	Backups    []backup.Envelope // of the name of the box, newest first, whether or not there is a box
	BackupsErr error             // they cannot be listed
	Keep       int               // backup.keep in the config
	// Lasts is how many more backups can be made before that limit deletes each backup, by its ID: 1 means that the next
	// one deletes it. A backup that only the user deletes is not in it.
	Lasts     map[string]int
	Drills    map[string]*ops.Drill // the last drill of each backup, by its ID
	DrillsErr error                 // they cannot be read
	DrillDir  string                // into which a drill restores the files of a backup
}

// On returns the box that a config describes, on a host; locate finds the config. Every call reads everything again, so
// that the dashboard shows what other commands and editors have changed.
func On(h *ops.Host, locate func() (string, error)) Box { return onHost{h, locate} }

type onHost struct {
	host   *ops.Host
	locate func() (string, error)
}

func (o onHost) open() (*ops.Box, error) {
	path, err := o.locate()
	if err != nil {
		return nil, err
	}
	return o.host.Open(path)
}

func (o onHost) Known() Known {
	b, err := o.open()
	if err != nil {
		return Known{Err: err}
	}
	k := Known{
		Name: b.Name(), Config: b.Config.Path, Lock: b.Lock,
		Exists: b.Record != nil, Ready: b.Record != nil && b.Record.Ready,
		Machine: machine(b.Config.VM), Status: b.Known(),
	}
	if b.Record != nil {
		k.Created = b.Record.Created
	}
	k.Backups, k.BackupsErr = b.Backups()
	k.Keep, k.Lasts = b.Config.Backup.Keep, b.Lasts(k.Backups)
	k.Drills, k.DrillsErr = b.Drills()
	k.DrillDir = b.DrillDir()
	return k
}

func (o onHost) Status(ctx context.Context) (*ops.Status, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.Status(limactl.Unlogged(ctx)) // otherwise these calls would fill the command log
}

func (o onHost) Do(ctx context.Context, operation string, force bool, sink ops.Sink) (any, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.Do(ctx, operation, force, sink)
}

func (o onHost) VerifyBackup(ctx context.Context, id string, progress func(done int64)) (*backup.Report, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.VerifyBackup(ctx, id, func(e ops.Event) {
		if e.Kind == ops.Bytes {
			progress(e.Done)
		}
	})
}

func (o onHost) DeleteBackup(ctx context.Context, id string, sink ops.Sink) error {
	b, err := o.open()
	if err != nil {
		return err
	}
	_, err = b.DeleteBackup(ctx, id, false, sink)
	return err
}

func (o onHost) ExportBackup(ctx context.Context, id, path string, sink ops.Sink) (*ops.BackupExported, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.ExportBackup(ctx, id, path, "", sink)
}

func (o onHost) GetFile(ctx context.Context, id, path, dir string, sink ops.Sink) (*ops.BackupGot, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.GetFiles(ctx, id, []string{path}, dir, sink)
}

func (o onHost) Drill(ctx context.Context, id string, intoBox bool, sink ops.Sink) (*ops.Drill, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	if intoBox {
		return b.DrillBox(ctx, id, sink)
	}
	return b.DrillFiles(ctx, id, sink)
}

func (o onHost) ShowBackup(ctx context.Context, id string) (*ops.BackupShown, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.ShowBackup(ctx, id)
}

func (o onHost) NeedsPassphrase(file string) (bool, error) {
	b, err := o.open()
	if err == nil {
		_, err = b.IsExported(file)
	}
	if err != nil {
		return false, err
	}
	return ops.NeedsPassphrase(file)
}

func (o onHost) Restore(ctx context.Context, from RestoreFrom, sink ops.Sink) (*ops.Restored, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	how := ops.RestoreFrom{Backup: from.Backup}
	switch {
	case from.Passphrase != "":
		with, err := age.NewScryptIdentity(from.Passphrase)
		if err != nil {
			return nil, err
		}
		how.Identities = []age.Identity{with}
	case from.Identity != "":
		if how.Identities, err = keys.ReadIdentities(from.Identity); err != nil {
			return nil, err
		}
	}
	return b.Restore(ctx, how, sink)
}

func (o onHost) Doctor(ctx context.Context, each func(ops.Check)) error {
	b, err := o.open()
	if err != nil {
		each(ops.Check{ID: "config", Title: "config file", Verdict: ops.Fail, Evidence: err.Error(), Repair: fault.HintOf(err)})
		return nil
	}
	b.Doctor(ctx, each)
	return ctx.Err()
}

func (o onHost) Logs(ctx context.Context, source string, lines int, follow bool, out io.Writer) error {
	b, err := o.open()
	if err != nil {
		return err
	}
	return b.Logs(ctx, source, lines, follow, out)
}

func (o onHost) Open(ctx context.Context, service string) (string, error) {
	b, err := o.open()
	if err != nil {
		return "", err
	}
	return b.Open(ctx, service)
}

func (o onHost) Attach(ctx context.Context) (*exec.Cmd, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.Attach(ctx)
}

func machine(v config.VM) string {
	return fmt.Sprintf("%d CPUs, %s of memory, a root disk of up to %s and a data disk of up to %s",
		v.CPUs, config.FormatSize(v.Memory), config.FormatSize(v.RootDisk), config.FormatSize(v.DataDisk))
}
