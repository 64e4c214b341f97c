package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/tree"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/suspect"
)

// BackupMade is the result of Backup.
type BackupMade struct {
	backup.Envelope
	Method  string   `json:"method"`            // how the copy was kept consistent: protocol.ByFreeze or protocol.BySnapshot
	Frozen  float64  `json:"frozen"`            // seconds for which programs in the box could not write
	Deleted []string `json:"deleted"`           // the oldest backups, deleted to keep no more than backup.keep
	Note    string   `json:"note,omitempty"`    // why the copy was not made from a snapshot
	Missing []string `json:"missing_artifacts"` // software of the lock that is not kept with the backup: a restore has to fetch it
	// Suspects are suspicious MCP servers in the settings of the agents: those that look like an attack, and those that
	// the previous backup does not have.
	Suspects []suspect.Entry `json:"suspects"`

	pool   *backup.Pool // that has the backup
	frozen *frozen      // if the data disk stays frozen: see frozen
}

// Backup makes a backup of the data disk of a running box. The recipients of the box's backups can open this backup. It
// is listed only after it was read back. Files that have not changed since the last backup are not read again, unless
// full is set. Afterwards the oldest backups are deleted: backup.keep in the config says how many are kept.
func (b *Box) Backup(ctx context.Context, label string, full bool, sink Sink) (*BackupMade, error) {
	if err := checkLabel(label); err != nil {
		return nil, err
	}
	made := newBackup()
	err := b.change(ctx, "backup", false, sink, func(ctx context.Context) (Plan, error) {
		in, err := b.vm(ctx)
		if err != nil {
			return Plan{}, err
		}
		if in.State != limactl.Running && !(in.State == limactl.Degraded && !in.Dead) {
			return Plan{}, fault.New(fault.PreflightFailed, "box %q is %s; only a running box can be backed up", b.Name(), in.State).Hint("hermes-box start; hermes-box backup")
		}
		return Plan{Steps: b.backupSteps(label, full, made)}, nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

func checkLabel(label string) error {
	if err := backup.CheckLabel(label); err != nil {
		return fault.New(fault.InvalidInput, "%w", err).Hint("a backup needs no label: hermes-box backup")
	}
	return nil
}

func newBackup() *BackupMade {
	return &BackupMade{Deleted: []string{}, Missing: []string{}, Suspects: []suspect.Entry{}}
}

// backupSteps returns the steps that back up a running box. The caller must hold the box's lock.
func (b *Box) backupSteps(label string, full bool, made *BackupMade) []Step {
	var previous *backup.Bundle
	return []Step{
		{ID: "open", Title: "open the backups", Do: func(ctx context.Context, p *Progress) error {
			pool, err := b.OpenPool(ctx)
			if err != nil {
				return err
			}
			made.pool = pool
			if err := pool.Sweep(ctx); err != nil { // removes what a killed backup has left
				p.Warn("what an interrupted backup left could not be removed: " + err.Error())
			}
			list, err := backup.List(b.Pool())
			if err != nil { // continue as without earlier backups
				list = nil
			}
			if id := damagedBackup(list); id != "" && !full {
				p.Warn("every file is read again, because backup " + id + " was found damaged, and newer ones may share its data; to end this: hermes-box backup delete " + id)
				full = true
			}
			previous = lastBackup(ctx, pool, list, p)
			return nil
		}},
		{ID: "copy", Title: "copy the data disk, and read the copy back", Do: func(ctx context.Context, p *Progress) error {
			if previous != nil {
				defer previous.Close()
			}
			meta := backup.Meta{Box: b.Name(), Disk: b.Record.DataUUID, Label: label, Full: full, Inspect: func(bundle *backup.Bundle) {
				made.Suspects = b.suspects(ctx, made.pool, bundle, previous, p)
			}}
			return b.copyData(ctx, previous, meta, protocol.BackupRequest{}, made, p)
		}},
		{ID: "keep", Title: "delete old backups", Do: func(ctx context.Context, p *Progress) error {
			deleted, err := made.pool.Prune(ctx, b.Config.Backup.Keep)
			made.Deleted = append(made.Deleted, deleted...)
			if err != nil { // only a warning, since the new backup is good
				p.Warn("old backups could not be deleted: " + err.Error())
			}
			return nil
		}},
	}
}

// damagedBackup returns the id of a backup in the list that was found damaged when it was read; "" if there is none.
func damagedBackup(list []backup.Envelope) string {
	for _, e := range list {
		if e.Failed != "" {
			return e.ID
		}
	}
	return ""
}

// lastBackup returns the newest good backup in the list that can be read; nil if there is none.
func lastBackup(ctx context.Context, pool *backup.Pool, list []backup.Envelope, p *Progress) *backup.Bundle {
	for _, e := range slices.Backward(list) {
		if !e.Good() {
			continue
		}
		bundle, err := pool.Load(ctx, e.ID)
		if err == nil {
			return bundle
		}
		p.Warn("backup " + e.ID + " cannot be used: " + err.Error())
	}
	return nil
}

// copyData copies the data disk of the box into the pool. Unless ask says that the disk is to be frozen, the guest
// decides whether it copies a snapshot, or freezes programs during the copy. If the snapshot gets full, the copy begins
// again, with programs frozen.
func (b *Box) copyData(ctx context.Context, previous *backup.Bundle, meta backup.Meta, ask protocol.BackupRequest, made *BackupMade, p *Progress) error {
	if _, err := b.ensureHelper(ctx); err != nil { // after an upgrade of this program, a backup by a timer may be the first command to reach the box
		return b.unreached(ctx, err)
	}
	lock, err := b.appliedText(ctx, p)
	if err != nil {
		return err
	}
	meta.Lock = lock
	if meta.Artifacts, err = b.keepArtifacts(ctx, made.pool, previous, lock, made, p); err != nil {
		return err
	}
	if meta.Full {
		previous = nil // every file is read again
	}
	err = b.streamData(ctx, previous, meta, ask, made, p)
	if full := (*protocol.Error)(nil); errors.As(err, &full) && full.Code == protocol.SnapshotFull {
		p.Warn(full.Message + "; the copy begins again, and programs in the box cannot write until it is complete")
		err = b.streamData(ctx, previous, meta, protocol.BackupRequest{Freeze: full.Message}, made, p)
	}
	return err
}

// streamData streams the data disk of the box into the pool. If ask says so, the disk stays frozen until made.frozen is
// released.
func (b *Box) streamData(ctx context.Context, previous *backup.Bundle, meta backup.Meta, ask protocol.BackupRequest, made *BackupMade, p *Progress) error {
	var known io.Reader
	if previous != nil {
		list, err := knownFiles(previous)
		if err != nil {
			return err
		}
		defer os.Remove(list.Name())
		defer list.Close()
		known = list
	}
	data, stream := io.Pipe()
	var done protocol.BackedUp
	event := relay(p)
	call := b.startCall(ctx, func(ctx context.Context) error {
		err := b.call(ctx, ssh.Call{Verb: protocol.VerbBackup, Request: ask, Stdin: known, Stdout: stream, Event: func(e protocol.Event) {
			if e.Phase == protocol.PhaseHeld {
				stream.Close()
			}
			event(e)
		}}, &done)
		stream.CloseWithError(err) // only now, so that Write also gets an error that the guest reports after the last byte
		return err
	})
	envelope, err := made.pool.Write(ctx, data, meta, previous, func(n int64) { p.Bytes(n, 0) })
	data.CloseWithError(errors.Join(err, errStopped))
	switch {
	case err != nil:
		call.release()
	case ask.Hold && call.keep():
		made.frozen = call
		made.Envelope, made.Method = *envelope, protocol.ByFreeze
		return nil
	}
	<-call.ended
	if err != nil { // Write reads the stream to its end, so this may also be an error of the guest
		return diskFull(err, b.Pool())
	}
	made.Envelope, made.Method, made.Note = *envelope, done.Method, done.Note
	made.Frozen = (time.Duration(done.Frozen) * time.Millisecond).Seconds()
	if done.Note != "" {
		p.Warn("programs in the box could not write while the data disk was copied: " + done.Note)
	}
	return nil
}

// errStopped is the error for a guest that still sends after the host has stopped reading.
var errStopped = errors.New("the backup was stopped")

// knownFiles writes the list of the files in a backup to a temporary file, for the guest, and returns it rewound.
func knownFiles(previous *backup.Bundle) (*os.File, error) {
	f, err := os.CreateTemp("", "hermes-box-known")
	if err != nil {
		return nil, err
	}
	var each error
	err = tree.WriteKnown(f, previous.Header.Taken, func(yield func(tree.Entry) bool) {
		each = previous.Each(func(e *tree.Entry) error {
			if e.Type == tree.File && e.Link == nil && !yield(*e) {
				return io.ErrShortWrite
			}
			return nil
		})
	})
	if err == nil && each == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err := errors.Join(err, each); err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

// slowAnswer is how long the box may take to answer before the user is told that a backup waits for it.
const slowAnswer = 5 * time.Second

// appliedText returns the text of the lock that was applied to the running box. It waits at most statusBound for the
// answer, like a status.
func (b *Box) appliedText(ctx context.Context, p *Progress) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, statusBound)
	defer cancel()
	defer time.AfterFunc(slowAnswer, func() {
		p.Warn(fmt.Sprintf("the box has not answered for %v; waiting up to %v for it", slowAnswer, statusBound))
	}).Stop()
	s, err := b.guestStatus(bounded)
	if bounded.Err() != nil && ctx.Err() == nil {
		return "", fault.New(fault.HealthFailed, "the box does not answer: no status in %v", statusBound).
			Hint(restartHint)
	}
	if err != nil {
		return "", b.unreached(ctx, err)
	}
	if s.DataProblem != "" {
		return "", fault.New(fault.IntegrityFailed, "the data disk of box %q: %s", b.Name(), s.DataProblem).Hint("hermes-box doctor")
	}
	return s.Lock, nil
}
