package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"hermes-box/internal/spell"
	"hermes-box/ops/fault"
)

// Report is the result of Verify.
type Report struct {
	ID         string   `json:"id"`
	Entries    int      `json:"entries"`
	Bytes      int64    `json:"bytes"`             // of data compared
	Digest     string   `json:"digest"`            // of the manifest, computed again
	Chunks     int      `json:"chunks"`            // read
	Seconds    float64  `json:"seconds"`           // how long the reading took
	NotChecked []string `json:"not_checked"`       // files that were not checked, and why; at most 100
	Damaged    []string `json:"damaged,omitempty"` // paths, at most 100 of them
	DamagedAll int      `json:"damaged_count"`     // all damaged files
	Artifacts  int      `json:"artifacts"`         // of its lock, kept with the backups and good: see VerifyArtifacts
	Missing    []string `json:"missing_artifacts"` // those that are missing or damaged: a restore has to fetch them
	// Repaired says what was wrong with the envelope, which was written again; empty if nothing was.
	Repaired string `json:"repaired,omitempty"`
}

// Verify reads a whole backup from the disk: its bundle, every chunk, and every file, whose digest it compares with the
// one in the bundle. progress, if not nil, is called with the number of bytes read so far. The envelope records
// the result, so that retention does not count a damaged backup; a damaged envelope is made again from the bundle.
// If files are damaged, Verify returns both a report and an error. If the bundle cannot be read, the report says only
// that.
func (p *Pool) Verify(ctx context.Context, id string, progress func(done int64)) (*Report, error) {
	defer limitMemory()()
	begun := p.now()
	b, err := p.Load(ctx, id)
	if err != nil {
		p.noteFailure(ctx, id, err)
		return &Report{ID: id, NotChecked: []string{"files: the list of files cannot be read"}}, err
	}
	defer b.Close()
	r, err := b.compare(ctx, nil, progress)
	if err != nil {
		return nil, err
	}
	r.Seconds = p.now().Sub(begun).Seconds()
	env := b.Envelope
	if r.DamagedAll > 0 {
		err = damaged(id, fmt.Errorf("%d of its %s cannot be restored, such as %q", r.DamagedAll, spell.Count(r.Entries, "file"), r.Damaged[0]))
		env.Failed = err.Error()
	} else {
		env.Failed, env.Verified, env.OldestRead = "", p.now().UTC().Truncate(time.Second), begun.UTC().Truncate(time.Second)
	}
	// The result is returned even if it cannot be recorded, on a read-only disk for example.
	if werr := p.writeEnvelope(ctx, &env); werr != nil {
		r.NotChecked = append(r.NotChecked, fmt.Sprintf("the result could not be recorded: %v", werr))
	} else {
		r.Repaired = b.unusable
	}
	return r, err
}

// noteFailure records in the envelope that the bundle cannot be read. If the envelope is damaged itself, List says so.
func (p *Pool) noteFailure(ctx context.Context, id string, err error) {
	if fault.CodeOf(err) != fault.IntegrityFailed {
		return // the backup does not exist, or it could not be read now, which proves nothing
	}
	if env, rerr := p.record(id); rerr == nil && !env.Repairable {
		env.Failed = err.Error()
		_ = p.writeEnvelope(ctx, env) // Verify returns err in any case
	}
}

// compare reads the files that want selects, all if it is nil, and compares their digests.
func (b *Bundle) compare(ctx context.Context, want func(*line) bool, progress func(int64)) (*Report, error) {
	r := &Report{ID: b.ID, Entries: b.Summary.Entries, Digest: b.Summary.Digest, Chunks: len(b.loads), Missing: []string{}}
	for _, problem := range b.Problems {
		if len(r.NotChecked) == 100 {
			break
		}
		r.NotChecked = append(r.NotChecked, fmt.Sprintf("%q: missing or incomplete in the backup: %s", problem.Path, problem.Reason))
	}
	f, err := b.fetch(ctx, b.loads)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if len(b.loads) == 0 {
		return r, nil // empty files are compared as the bundle is read
	}
	h := sha256.New()
	var sum [sha256.Size]byte
	var digest [2 * sha256.Size]byte
	err = b.each(func(l *line) error {
		if len(l.refs) == 0 || want != nil && !want(l) {
			return nil
		}
		h.Reset()
		for i, part := range l.refs {
			err := f.copy(h, l.refs[i:i+1])
			if err != nil && !errors.Is(err, errDamaged) {
				return err
			} else if err == nil {
				r.Bytes += part[2]
			}
			if progress != nil {
				progress(r.Bytes)
			}
		}
		if hex.Encode(digest[:], h.Sum(sum[:0])); !bytes.Equal(digest[:], l.digest) {
			e, err := l.entry()
			if err != nil {
				return err
			}
			if r.DamagedAll++; len(r.Damaged) < 100 {
				r.Damaged = append(r.Damaged, string(e.Path))
			}
		}
		return ctx.Err()
	})
	return r, err
}

// readBack reads a bundle that is not listed yet, and every file in it that has a fresh chunk: one that must be read
// back.
func (p *Pool) readBack(ctx context.Context, in io.Reader, id string, fresh []bool, inspect func(*Bundle)) error {
	want := func(l *line) bool {
		for _, r := range l.refs {
			if fresh[r[0]] {
				return true
			}
		}
		return false
	}
	b, err := p.decodeBundle(reader{ctx, in}, id, want)
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := b.compare(ctx, want, nil)
	if err != nil {
		return err
	}
	if r.DamagedAll > 0 {
		return fault.New(fault.IntegrityFailed, "reading the backup back found %s whose content differs from that in the box, such as %q", spell.Count(r.DamagedAll, "file"), r.Damaged[0]).
			Hint("check the disk and the memory of this computer; to read every file again: hermes-box backup --full")
	}
	if inspect != nil {
		inspect(b)
	}
	return nil
}
