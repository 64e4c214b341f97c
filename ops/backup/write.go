package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// Meta is what a backup records besides the tree.
type Meta struct {
	Box       string
	Disk      string // UUID of the file system of the data disk
	Label     string // [a-z0-9-]{0,32}
	Lock      string // the text of the applied lock
	Artifacts []Artifact
	Full      bool // read back all chunks, even those that an earlier backup read back
	// Inspect, if set, is called with the backup after it was read back, before it is listed. The bundle is valid
	// during the call.
	Inspect func(*Bundle)
}

// Write makes a backup of the tree that stream holds, and returns its envelope once it is listed. Entries that are
// Reused have the data that they had in previous, which may be nil. progress, if not nil, is called with the number of
// bytes of data stored so far.
//
// Before it is listed, the backup is read back from the disk: the bundle, and each chunk that is new or was not in
// previous; the digests of all files in them are compared with those of the data that the guest sent. The other chunks
// were read back by previous or by an earlier backup: only their existence and size are checked, so that a second
// backup of unchanged data is fast. Meta.Full, Verify and a restore read everything. Chunk.Read is the time at which
// a chunk was last read by a backup.
//
// A stream that is cut off, or that differs from its checksums or its summary, is an error. After an error nothing is
// listed; Sweep removes what was written.
func (p *Pool) Write(ctx context.Context, stream io.Reader, meta Meta, previous *Bundle, progress func(done int64)) (*Envelope, error) {
	in, err := tree.NewReader(reader{ctx, stream})
	if err != nil {
		return nil, fmt.Errorf("read the tree from the box: %w", err)
	}
	at, err := p.newTime()
	if err != nil {
		return nil, err
	}
	number, err := p.nextNumber(ctx)
	if err != nil {
		return nil, err
	}
	h := Header{Format: 1, ID: newID(at, meta.Label), Number: number, Time: at, Box: meta.Box, Disk: meta.Disk, Arch: in.Header.Arch, Taken: in.Header.Taken,
		Label: meta.Label, Lock: meta.Lock, Artifacts: meta.Artifacts}
	if _, _, err := ParseID(h.ID); err != nil {
		return nil, fault.New(fault.InvalidInput, "%q is not a label", meta.Label).Hint("use up to 32 lower-case letters, digits and dashes")
	}
	return p.write(ctx, in, h, meta, previous, progress)
}

// write makes the backup with the header h. If h has a Summary, the tree must match it; otherwise write sets it. Of
// meta it uses only Full and Inspect.
func (p *Pool) write(ctx context.Context, in *tree.Reader, h Header, meta Meta, previous *Bundle, progress func(int64)) (*Envelope, error) {
	defer limitMemory()()
	lines, err := p.disk.spool()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	s, err := p.newStorer(ctx, previous, meta.Full)
	if err != nil {
		return nil, err
	}
	defer s.close()
	w := newWriter(s, in, lines, previous, progress)
	sum, err := w.tree()
	if err == nil && h.Summary != (Summary{}) && sum != h.Summary { // h is the header of an imported file
		err = fmt.Errorf("its files (%s) do not match its summary (%s)", sum, h.Summary)
	}
	if err != nil {
		return nil, err
	}
	h.Summary = sum
	w.seen = nil
	chunks, fresh, err := s.finish()
	if err != nil {
		return nil, err
	}
	if err := p.disk.syncDirs(); err != nil {
		return nil, err
	}
	env, err := p.writeBundle(s, h, lines, chunks, fresh, meta.Inspect)
	if err != nil {
		return nil, fmt.Errorf("write the backup %s: %w", h.ID, err)
	}
	return env, nil
}

// writeBundle writes the bundle to tmp/, reads everything back, and then lists the backup.
func (p *Pool) writeBundle(s *storer, h Header, lines *temp, chunks []Chunk, fresh []bool, inspect func(*Bundle)) (*Envelope, error) {
	ctx := s.ctx
	if _, err := lines.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	t, err := p.disk.create()
	if err != nil {
		return nil, err
	}
	committed := false
	defer func() {
		if !committed {
			t.discard()
		}
	}()
	if err := p.encodeBundle(t, h, reader{ctx, lines}, chunks); err != nil {
		return nil, err
	}
	if err := t.d.check("sync", t.Name()); err != nil {
		return nil, err
	}
	if err := t.Sync(); err != nil {
		return nil, err
	}
	written, err := os.Open(t.Name())
	if err != nil {
		return nil, err
	}
	defer written.Close()
	digest, err := sha256Of(ctx, written)
	if err != nil {
		return nil, err
	}
	if _, err := written.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if err := p.readBack(ctx, written, h.ID, fresh, inspect); err != nil {
		return nil, err
	}
	info, err := written.Stat()
	if err != nil {
		return nil, err
	}
	env := p.envelopeOf(&h, chunks, info.Size(), digest)
	for _, is := range fresh {
		if is {
			env.ReadBack++
		}
	}
	env.Added, env.Verified = env.Added+s.added, p.now().UTC().Truncate(time.Second)
	committed = true
	return env, p.list(ctx, env, t)
}

// envelopeOf returns the envelope of a backup that was not verified yet, whose bundle has size bytes and this digest.
// Added counts only the bundle.
func (p *Pool) envelopeOf(h *Header, chunks []Chunk, size int64, digest string) *Envelope {
	env := &Envelope{Format: 1, ID: h.ID, Number: h.Number, Imported: h.Imported, Time: h.Time, Box: h.Box, Disk: h.Disk, Label: h.Label, Arch: h.Arch, Size: size, Digest: digest,
		Recipients: []string{}, Entries: h.Summary.Entries, Bytes: h.Summary.Bytes, Problems: h.Summary.Problems, Added: size,
		Chunks: len(chunks), OldestRead: p.now().UTC().Truncate(time.Second)}
	for _, r := range p.recipients {
		env.Recipients = append(env.Recipients, r.Recipient)
	}
	for _, c := range chunks {
		if at := time.Unix(c.Read, 0).UTC(); at.Before(env.OldestRead) {
			env.OldestRead = at
		}
	}
	return env
}

// newTime returns the time for a new backup: now, or a second after the newest one if the clock was put back, so that
// the times agree with the order of the backups. A backup more than a day ahead does not count: its clock was wrong. No
// two backups of a pool have the same time.
func (p *Pool) newTime() (time.Time, error) {
	at := p.now().UTC().Truncate(time.Second)
	entries, err := os.ReadDir(p.disk.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return at, err
	}
	limit := at.Add(ahead)
	for _, id := range ids(entries) { // in the order of their times
		if t, _, err := ParseID(id); err == nil && (t.Equal(at) || t.After(at) && t.Before(limit)) {
			at = t.Add(time.Second)
		}
	}
	return at, nil
}
