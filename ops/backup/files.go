package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"hermes-box/guest/protocol/tree"
)

// Copy writes the data of a file to w: without its holes, if the file has any. It returns an error if the digest of the
// written data is wrong.
type Copy func(w io.Writer) error

// Files calls fn for each entry that want selects, in the order of the tree. copy is nil for an entry that has no data
// of its own: one that is no regular file, or a hard link. fn may call copy once, before it returns. A chunk is read
// only once if the files in it follow each other.
func (b *Bundle) Files(ctx context.Context, want func(*tree.Entry) bool, fn func(e *tree.Entry, copy Copy) error) error {
	defer limitMemory()()
	var loads []int32
	var recent recent
	wanted := map[int64]bool{} // numbers of entries
	at := int64(0)
	err := b.each(func(l *line) error {
		e, err := l.entry()
		if err == nil && want(e) {
			wanted[at] = true
			loads = recent.misses(loads, l.refs)
		}
		at++
		return err
	})
	if err != nil {
		return err
	}
	f, err := b.fetch(ctx, loads)
	if err != nil {
		return err
	}
	defer f.close()
	at = -1
	return b.each(func(l *line) error {
		if at++; !wanted[at] {
			return ctx.Err()
		}
		e, err := l.entry()
		if err != nil {
			return err
		}
		if !e.HasData() {
			return fn(e, nil)
		}
		done := false
		err = fn(e, func(w io.Writer) error {
			done = true
			h := sha256.New()
			err := f.copy(io.MultiWriter(w, h), l.refs)
			if err == nil && hex.EncodeToString(h.Sum(nil)) != e.Digest {
				err = fmt.Errorf("%q is %w: its digest differs from the backup's manifest", e.Path, errDamaged)
			}
			if errors.Is(err, errDamaged) {
				return damaged(b.ID, err)
			}
			return err
		})
		if err == nil && !done {
			err = f.copy(io.Discard, l.refs) // so that the next file finds its chunks
		}
		return err
	})
}

// Entry returns the entry of a path, or an error that says that the backup has none.
func (b *Bundle) Entry(path []byte) (*tree.Entry, error) {
	l, err := b.find(path)
	if err == nil && l == nil {
		err = b.notThere(path)
	}
	if err != nil {
		return nil, err
	}
	e, err := l.entry()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	return e, nil
}
