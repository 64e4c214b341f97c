package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"hermes-box/guest/protocol"
	"hermes-box/internal/spell"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
	"hermes-box/ops/store"
)

// guestArch is the GOARCH of boxes on this machine.
const guestArch = runtime.GOARCH

// earlierName is the name that the recipient of the old box gets in the list of the pool.
const earlierName = "the earlier box"

// makeKey makes the key of the new box, unless there is one for its name. If another key opened the backups, the new
// key is added to their recipients.
func (r *restoration) makeKey(ctx context.Context, p *Progress) error {
	if err := r.journal.begin(); err != nil {
		return err
	}
	record, err := r.Box.makeKey(ctx, r.pool != nil, func() error {
		r.result.NewKey = true
		return r.journal.making(madeKey)
	}, p)
	if err != nil {
		return err
	}
	r.creation.result.Key = r.place(record)
	if r.pool == nil {
		return nil
	}
	list, _ := r.withOwn(r.pool, record, earlierName)
	if list == nil {
		return nil
	}
	if err := r.journal.making(madeRecipient); err != nil {
		return err
	}
	return r.pool.Rewrite(ctx, list)
}

// leavePool undoes what makeKey did to the pool: the key of the box no longer opens the backups.
func (b *Box) leavePool(ctx context.Context) error {
	record, err := keys.Read(b.Home, b.Name())
	if errors.Is(err, keys.ErrNoKey) {
		return nil
	}
	if err != nil {
		return err
	}
	identity, err := b.identity(ctx, record)
	if fault.CodeOf(err) == fault.NotFound { // the key was recorded, but not made
		return nil
	}
	if err != nil {
		return err
	}
	pool, err := backup.Open(b.Pool(), identity)
	if fault.CodeOf(err) == fault.IntegrityFailed { // the key was not added
		return nil
	}
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(pool.Recipients(), func(o backup.Recipient) bool { return o.Recipient == record.Recipient })
	if len(list) == 0 {
		return nil
	}
	renamed(list, earlierName, OwnName)
	return pool.Rewrite(ctx, list)
}

// renamed renames each recipient whose name is from.
func renamed(list []backup.Recipient, from, to string) {
	for i := range list {
		if list[i].Name == from {
			list[i].Name = to
		}
	}
}

// format formats the data disk and mounts it, empty.
func (r *restoration) format(ctx context.Context, p *Progress) error {
	return r.prepareGuest(ctx, protocol.Bootstrap{Format: true, DataOnly: true}, p)
}

// bootstrap prepares the rest of the guest, with the data in place.
func (r *restoration) bootstrap(ctx context.Context, p *Progress) error {
	return r.prepareGuest(ctx, protocol.Bootstrap{DataUUID: r.Record.DataUUID}, p)
}

// unpack streams the files of the backup to the data disk, where the guest checks them again. Then it compares the
// counts of the guest with those of the backup.
func (r *restoration) unpack(ctx context.Context, p *Progress) error {
	want := r.bundle.Summary
	in, out := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := backup.Send(ctx, r.bundle, &sentBytes{w: out, total: want.Bytes, p: p})
		out.CloseWithError(err)
		sent <- err
	}()
	var got protocol.Unpacked
	err := r.askStream(ctx, protocol.VerbUnpack, in, &got, relay(p))
	in.Close()
	if sendErr := <-sent; sendErr != nil && !errors.Is(sendErr, io.ErrClosedPipe) && ctx.Err() == nil {
		// It is the cause: for the guest the stream only ended early.
		return fault.New(fault.IntegrityFailed, "send the backup %s: %w", r.bundle.ID, sendErr).Hint("hermes-box backup verify %s", r.bundle.ID)
	}
	if full := (*protocol.Error)(nil); errors.As(err, &full) && full.Code == protocol.DataFull {
		return fault.New(fault.PreflightFailed, "the files of the backup %s do not fit on a data disk of %s: %w", r.bundle.ID, size(r.Config.VM.DataDisk), err).
			Hint("set a larger vm.data_disk in %s", r.Config.Path)
	}
	if err != nil {
		return err
	}
	if got.Entries != want.Entries || got.Bytes != want.Bytes {
		return fault.New(fault.IntegrityFailed, "the restored box has %s with %s, but backup %s has %s with %s",
			spell.Count(got.Entries, "file"), spell.Count(got.Bytes, "byte"), r.bundle.ID, spell.Count(want.Entries, "file"), spell.Count(want.Bytes, "byte")).Hint("hermes-box backup verify %s", r.bundle.ID)
	}
	r.result.Entries, r.result.Bytes = got.Entries, got.Bytes
	r.result.Lost = append(r.result.Lost, got.Lost...)
	return nil
}

// sentBytes reports the bytes that pass.
type sentBytes struct {
	w           io.Writer
	done, total int64
	p           *Progress
}

func (c *sentBytes) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.done += int64(n)
	c.p.Bytes(min(c.done, c.total), c.total) // the stream has a little more than the data
	return n, err
}

// finish writes the lock beside the config if there is none, and records the box.
func (r *restoration) finish(ctx context.Context, p *Progress) error {
	path := LockPath(r.Config)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := writeNew(path, r.lockText()); err != nil && !errors.Is(err, fs.ErrExist) {
			p.Warn(fmt.Sprintf("the lock could not be written: %v", err))
		} else if err == nil {
			r.result.LockFile = path
		}
	}
	return r.creation.finish(ctx, p)
}

// lockText returns the text of the lock that was installed.
func (r *restoration) lockText() []byte {
	if r.from.Lock != "" {
		return r.Lock.Canonical()
	}
	return []byte(r.header.Lock)
}

// writeNew writes a temporary file and then links it as path, so that the file at path is complete and replaces nothing.
// If there is a file at path already, the error wraps fs.ErrExist.
func writeNew(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return store.SyncDir(filepath.Dir(path))
}
