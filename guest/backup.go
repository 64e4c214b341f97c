package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"hermes-box/guest/backup"
	"hermes-box/guest/bootstrap"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// freezeLimit is the longest that the data disk stays frozen for a backup. After that, programs can write again, and
// the backup fails.
const freezeLimit = 15 * time.Minute

// holdLimit is when a backup that holds the freeze fails. It is shorter than freezeLimit, so that the host knows before
// programs can write again.
const holdLimit = freezeLimit - time.Minute

// notBackedUp are the directories of the data disk that hold nothing of value.
var notBackedUp = map[string]bool{"cache": true, "lost+found": true}

// fullEvery is how often a backup asks whether its snapshot still has room.
const fullEvery = 10 * time.Second

// errFull is the cause with which a copy is canceled when its snapshot is full.
var errFull = &protocol.Error{Code: protocol.SnapshotFull, Message: "programs wrote more than the snapshot has room for",
	Hint: "hermes-box backup"}

// MapData makes the device that the data disk is mounted through. Before the first bootstrap it does nothing.
func (g *Guest) MapData(ctx context.Context) error {
	uuid, err := bootstrap.RecordedUUID(g.Tree)
	if err != nil || uuid == "" {
		return err
	}
	return g.Machine.MapUUID(ctx, uuid)
}

// Backup writes the data disk, without the directories in notBackedUp, to w as it was at one moment. known lists the
// files of an earlier backup; if a file has not changed since, its data is not sent. Files that cannot be read are
// problems in the stream. While a snapshot is read, programs can write; without a snapshot, they cannot write until the
// copy is complete.
func (g *Guest) Backup(ctx context.Context, ask protocol.BackupRequest, known io.Reader, w io.Writer) (protocol.BackedUp, error) {
	if err := g.CheckData(ctx); err != nil {
		return protocol.BackedUp{}, err
	}
	source := backup.Source{Root: g.Path(protocol.DataDir), Skip: notBackedUp}
	var err error
	if source.Known, err = backup.ReadKnown(known); err != nil {
		return protocol.BackedUp{}, err
	}
	why := ask.Freeze
	if why == "" && !ask.Hold {
		g.emit(protocol.Event{Phase: "snapshot", State: protocol.Started})
		snapshot, err := g.Machine.Snapshot(ctx, source.Root)
		if err == nil {
			return g.copySnapshot(ctx, snapshot, source, w)
		}
		if ctx.Err() != nil {
			return protocol.BackedUp{}, ctx.Err()
		}
		why = err.Error()
	}
	return g.copyFrozen(ctx, why, ask.Hold, source, w)
}

// copySnapshot copies the data disk from a snapshot and ends the snapshot.
func (g *Guest) copySnapshot(ctx context.Context, snapshot *machine.Snapshot, source backup.Source, w io.Writer) (protocol.BackedUp, error) {
	source.Root, source.Taken = snapshot.Root, g.now()
	g.emit(protocol.Event{Phase: "copy", State: protocol.Started})
	copying, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		every := time.NewTicker(fullEvery)
		defer every.Stop()
		for {
			select {
			case <-copying.Done():
				return
			case <-every.C:
				if full, err := snapshot.Full(copying); err == nil && full {
					stop(errFull)
				}
			}
		}
	}()
	_, err := source.Send(copying, w)
	if context.Cause(copying) == errFull {
		err = errFull
	}
	stop(nil)
	<-watched
	if err == nil {
		var full bool
		if full, err = snapshot.Full(ctx); full && err == nil {
			err = errFull
		}
	}
	done := protocol.BackedUp{Method: protocol.BySnapshot, Frozen: snapshot.Frozen.Milliseconds()}
	return done, errors.Join(err, snapshot.End())
}

// copyFrozen copies the data disk while nothing can be written to it. With hold the disk stays frozen until ctx ends or
// holdLimit has passed, so copyFrozen always returns an error.
func (g *Guest) copyFrozen(ctx context.Context, why string, hold bool, source backup.Source, w io.Writer) (protocol.BackedUp, error) {
	g.emit(protocol.Event{Phase: "freeze", State: protocol.Started})
	begun := g.now()
	thaw, err := g.Machine.Freeze(ctx, source.Root, freezeLimit)
	if err != nil {
		return protocol.BackedUp{}, err
	}
	source.Taken = g.now()
	g.emit(protocol.Event{Phase: "copy", State: protocol.Started})
	_, err = source.Send(ctx, w)
	if err == nil && hold {
		g.emit(protocol.Event{Phase: protocol.PhaseHeld, State: protocol.Started})
		err = g.untilReleased(ctx, holdLimit-g.now().Sub(begun))
	}
	err = errors.Join(err, thaw())
	return protocol.BackedUp{Method: protocol.ByFreeze, Note: why, Frozen: g.now().Sub(begun).Milliseconds()}, err
}

// untilReleased waits until ctx ends or the limit has passed.
func (g *Guest) untilReleased(ctx context.Context, limit time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(limit):
		return &protocol.Error{Code: "external_failed", Message: fmt.Sprintf("the data disk was frozen for %v", holdLimit)}
	}
}

// Unpack makes the tree of the stream r on the data disk, which must be mounted and, except for lost+found, empty.
func (g *Guest) Unpack(ctx context.Context, r io.Reader) (protocol.Unpacked, error) {
	// If the data disk is not mounted, such as after a reboot, the files would be written to the root disk.
	if err := bootstrap.CheckMounted(ctx, g.Tree, g.Machine); err != nil {
		return protocol.Unpacked{}, err
	}
	got, err := backup.Unpack(ctx, g.Path(protocol.DataDir), r)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return protocol.Unpacked{}, &protocol.Error{Code: protocol.DataFull, Message: "the data disk is full: " + err.Error()}
	}
	if err != nil {
		return protocol.Unpacked{}, err
	}
	done := protocol.Unpacked{Entries: got.Summary.Entries, Bytes: got.Summary.Bytes}
	for _, p := range got.Lost {
		done.Lost = append(done.Lost, protocol.LostPart{Path: p.Path, Part: p.Reason})
	}
	return done, nil
}
