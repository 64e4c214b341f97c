package backup

import (
	"context"
	"fmt"
	"slices"

	"hermes-box/internal/spell"
	"hermes-box/ops/fault"
)

// Delete deletes a backup, and the chunks that no other backup needs. Unless forced, it refuses to delete what cannot
// be restored from another backup of the same data disk: see spare. reading, if not nil, is called for each backup that
// is read for that, and returns the function that gets the number of bytes read so far. After a crash during the
// deletion the backup is not listed, and the next Sweep removes the rest.
func (p *Pool) Delete(ctx context.Context, id string, forced bool, reading func(*Envelope) func(done int64)) error {
	list, err := p.listed()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(e Envelope) bool { return e.ID == id })
	if i < 0 {
		return noSuch(id)
	}
	if !forced {
		if reading == nil {
			reading = func(*Envelope) func(int64) { return nil }
		}
		if err := p.spare(ctx, list, id, reading); err != nil {
			return err
		}
	}
	if err := p.unlist(id); err != nil {
		return err
	}
	return p.Sweep(ctx)
}

// spare returns an error if the backup must be kept. A good backup must be kept unless another one of its data disk is
// good too, and complete if this one is. A damaged backup must be kept if files can be read from it and no backup of
// its data disk is good. Files can rot after they were verified, so if only one other backup seems good, all of it is
// read first.
func (p *Pool) spare(ctx context.Context, list []Envelope, id string, reading func(*Envelope) func(int64)) error {
	record, err := p.record(id)
	if err != nil {
		if fault.CodeOf(err) == fault.IntegrityFailed { // its bundle is missing or cut off: nothing can be read from it
			return nil
		}
		return err
	}
	bundle, err := p.outline(ctx, record)
	if ctx.Err() != nil || provesNothing(err) {
		return err
	} else if err != nil {
		return nil // without the list of its files nothing can be read from it
	}
	good := p.Sound(ctx, record) || record.Repairable && p.complete(ctx, record)
	complete := good && bundle.Summary.Problems == 0
	var others []Envelope
	incomplete := false // another one is good, but partial
	for _, e := range list {
		if e.ID == id || e.Disk != bundle.Disk || !p.Sound(ctx, &e) {
			continue
		}
		if complete && e.Partial() {
			incomplete = true
			continue
		}
		others = append(others, e)
	}
	var rotten error
	if len(others) == 1 {
		_, rotten = p.Verify(ctx, others[0].ID, reading(&others[0]))
		if rotten != nil && fault.CodeOf(rotten) != fault.IntegrityFailed {
			return rotten
		}
	}
	if len(others) > 0 && rotten == nil {
		return nil
	}
	what, copied := "the only good backup of its data disk", "to keep a copy: hermes-box backup export "+id+" FILE"
	if incomplete {
		what += " that is complete"
	}
	if !good {
		record.Bytes = bundle.Summary.Bytes // not set if the envelope is damaged
		report, err := p.Verify(ctx, id, reading(record))
		if report == nil || err != nil && fault.CodeOf(err) != fault.IntegrityFailed {
			return err
		}
		left := report.Entries - report.DamagedAll
		if report.Bytes == 0 && report.DamagedAll > 0 {
			return nil // no data can be read from it
		} else if err != nil {
			what = fmt.Sprintf("damaged, but %d of its %s can still be restored from it, and no other backup of its data disk is good",
				left, spell.Count(report.Entries, "file"))
			copied = "to copy files out of it: hermes-box backup get " + id + " PATH --to DIR"
		}
	}
	refused := fault.New(fault.PreflightFailed, "%s is %s", id, what)
	if rotten != nil {
		refused = fault.New(fault.PreflightFailed, "%s is %s: %w", id, what, rotten)
	}
	return refused.Hint("%s; to delete it all the same: hermes-box backup delete %s --force", copied, id)
}
