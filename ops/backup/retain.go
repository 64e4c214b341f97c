package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes-box/ops/fault"
)

// ErrKept is wrapped by the error of Delete, Prune and Sweep if a listed bundle cannot be read: the backups were
// deleted, but no chunk was removed. The error names the bundle.
var ErrKept = errors.New("no data is removed from the disk")

// Sound reports whether a listed backup counts as good: it was verified, its envelope and its bundle were made with
// this key and have not changed since, and its chunks exist with their sizes. The content of the chunks is not read.
func (p *Pool) Sound(ctx context.Context, e *Envelope) bool {
	if !e.Good() {
		return false
	}
	record, err := p.record(e.ID)
	return err == nil && record.Good() && p.complete(ctx, record)
}

// complete reports whether the bundle of a backup can be read and its chunks exist. A chunk counts as missing if its file
// has another size than the bundle says, unless it can be read: a later version may have compressed it differently. The
// envelope may be damaged.
func (p *Pool) complete(ctx context.Context, e *Envelope) bool {
	b, err := p.outline(ctx, e)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(b.Chunks, func(c Chunk) bool {
		size := p.stat(c.ID)
		return size == 0 || size != c.Stored && !p.readable(c.ID)
	})
}

// readable reports whether a chunk can be read and has the right content.
func (p *Pool) readable(id string) bool {
	c, err := p.newCodec()
	if err != nil {
		return false
	}
	defer c.close()
	_, _, err = c.read(id, nil)
	return err == nil
}

// Prune deletes the backups that retention does not keep, and returns their ids. Of the good backups of each data disk
// it keeps the newest, as many as keep says but at least one, and the newest complete one. Since each disk is counted
// separately, new backups of this box do not push out imported ones or those of an earlier box of that name. Damaged
// backups do not count, and are left for Delete.
func (p *Pool) Prune(ctx context.Context, keep int) (deleted []string, err error) {
	list, err := p.listed()
	if err != nil {
		return nil, err
	}
	kept, complete := map[string]int{}, map[string]bool{} // by disk
	for _, e := range slices.Backward(list) {
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
		if !p.Sound(ctx, &e) {
			continue
		}
		if kept[e.Disk] < max(keep, 1) || !complete[e.Disk] && !e.Partial() {
			kept[e.Disk]++
			complete[e.Disk] = complete[e.Disk] || !e.Partial()
			continue
		}
		if err := p.unlist(e.ID); err != nil {
			return deleted, err
		}
		deleted = append(deleted, e.ID)
	}
	return deleted, p.Sweep(ctx)
}

// Lasts returns how many more complete backups of a data disk can be made before Prune deletes each backup in the list,
// by its id: 1 means that the next one deletes it. The list is newest first. A backup that Prune leaves alone, because
// it is damaged or the newest of another disk, is not in the result.
func Lasts(list []Envelope, keep int, disk string) map[string]int {
	lasts := map[string]int{}
	newer, complete := map[string]int{}, map[string]bool{} // by disk
	for _, e := range list {
		if !e.Good() {
			continue
		}
		left := max(keep, 1) - newer[e.Disk]
		spared := !complete[e.Disk] && !e.Partial()
		newer[e.Disk]++
		complete[e.Disk] = complete[e.Disk] || !e.Partial()
		if e.Disk == disk || left < 1 && !spared {
			lasts[e.ID] = max(left, 1)
		}
	}
	return lasts
}

// Sweep removes what killed commands left: bundles that were being listed or deleted, files in tmp/, and chunks and
// artifacts that no bundle names. If a listed bundle cannot be read, it may need any of the chunks and artifacts: Sweep
// then removes none of them, and the error wraps ErrKept.
func (p *Pool) Sweep(ctx context.Context) error {
	entries, err := os.ReadDir(p.disk.dir)
	if err != nil {
		return err
	}
	listed := []string{}
	for _, id := range ids(entries) {
		if p.disk.has(envelopeName(id)) || !p.disk.has(changingName(id)) {
			listed = append(listed, id)
		} else if err := p.disk.remove(bundleName(id)); err != nil {
			return err
		}
	}
	if err := p.disk.syncDirs(); err != nil { // before sweepTemp removes the envelopes that keep these bundles unlisted
		return err
	}
	if err := p.sweepTemp(); err != nil {
		return err
	}
	needed, artifacts := map[string]bool{}, map[string]bool{}
	for _, id := range listed {
		b, err := p.outline(ctx, &Envelope{ID: id, Repairable: true}) // Repairable: outline needs no envelope
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if provesNothing(err) {
			return fmt.Errorf("%w, because %s cannot be read now and may need it: %w", ErrKept, id, err)
		} else if err != nil {
			return fault.New(fault.IntegrityFailed, "%w, because %s cannot be read and may need it: %v", ErrKept, id, err).
				Hint("hermes-box backup delete %s", id)
		}
		for _, c := range b.Chunks {
			needed[c.ID] = true
		}
		for _, a := range b.Artifacts {
			if name, err := artifactName(a.Digest); err == nil {
				artifacts[name] = true
			}
		}
	}
	return errors.Join(p.sweepChunks(ctx, needed), p.sweepArtifacts(ctx, artifacts), p.disk.syncDirs())
}

func (p *Pool) sweepTemp() error {
	entries, err := os.ReadDir(p.disk.path("tmp"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		if err := p.disk.remove(filepath.Join("tmp", e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// sweepChunks removes the chunks that are not needed. Files with other names are not ours, and are left.
func (p *Pool) sweepChunks(ctx context.Context, needed map[string]bool) error {
	for i := range 256 {
		dir := fmt.Sprintf("chunks/%02x", i)
		entries, err := os.ReadDir(p.disk.path(dir))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			id, ok := strings.CutSuffix(e.Name(), ".age")
			if !ok || !validID(id) || !strings.HasPrefix(id, dir[len("chunks/"):]) || needed[id] {
				continue
			}
			if err := p.disk.remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
