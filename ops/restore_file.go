package ops

import (
	"context"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
)

// examine reads an exported file to its end and compares everything in it with its digests. Its software goes into the
// cache, and nothing else is kept.
func (r *restoration) examine(ctx context.Context, p *Progress) error {
	identities, err := r.identities(ctx)
	if err != nil {
		return err
	}
	f, size, err := openExported(r.from.Backup)
	if err != nil {
		return err
	}
	defer f.Close()
	cache, err := r.openCache()
	if err != nil {
		return err
	}
	in := &counted{r: f, report: func(n int64) { p.Bytes(n, size) }}
	h, err := backup.ExamineFile(ctx, in, cachedArtifacts{cache}.put, identities...)
	if err != nil {
		return err
	}
	p.Log("the file is good: digest " + h.Summary.Digest)
	return r.accept(h)
}

// importFile adds the backup in an exported file to those of the box, unless it is there already.
func (r *restoration) importFile(ctx context.Context, p *Progress) (err error) {
	if !r.hasPool() {
		if err := r.journal.making(madePool); err != nil {
			return err
		}
	}
	if r.pool, err = r.OpenPool(ctx); err != nil {
		return err
	}
	id := r.header.ID
	list, err := backup.List(r.Pool())
	if err != nil {
		return err
	}
	has := false
	for _, e := range list {
		has = has || e.ID == id
	}
	if !has {
		if err := r.journal.making(madeBackup + id); err != nil {
			return err
		}
		if _, err := r.importBackup(ctx, r.pool, r.from.Backup, r.from.Identities, p); err != nil {
			return err
		}
	}
	if r.bundle, err = r.pool.Load(ctx, id); err != nil {
		return err
	}
	if r.bundle.Summary != r.header.Summary {
		return fault.New(fault.AlreadyExists, "box %q already has a different backup with the id %s", r.Name(), id).Hint("hermes-box backup show %s", id)
	}
	if has { // the backup was in the pool already: the exported file was read to its end, but this backup was not
		return r.check(ctx, p)
	}
	r.result.Suspects = r.suspects(ctx, r.pool, r.bundle, nil, p)
	return nil
}
