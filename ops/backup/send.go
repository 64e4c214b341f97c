package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"hermes-box/guest/protocol/tree"
)

// Send writes a backup to w as the stream for a restore. Every chunk is checked before its bytes are written, and each
// file is compared with its digest. The problems of the backup are not sent: they name files that are not in it.
func Send(ctx context.Context, b *Bundle, w io.Writer) error {
	defer limitMemory()()
	f, err := b.fetch(ctx, b.loads)
	if err != nil {
		return err
	}
	defer f.close()
	out, err := tree.NewWriter(w, tree.Header{Version: tree.Version, Arch: b.Arch, Taken: b.Taken})
	if err != nil {
		return err
	}
	h := sha256.New()
	err = b.each(func(l *line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := l.entry()
		if err != nil {
			return err
		}
		if err := out.Entry(e); err != nil {
			return err
		}
		if !e.HasData() {
			return nil
		}
		h.Reset()
		if err := f.copy(io.MultiWriter(out, h), l.refs); err != nil {
			return fmt.Errorf("%q: %w", e.Path, err)
		}
		if hex.EncodeToString(h.Sum(nil)) != e.Digest {
			return damaged(b.ID, fmt.Errorf("the digest of %q differs from its entry", e.Path))
		}
		return out.EndFile()
	})
	if err != nil {
		return err
	}
	_, err = out.End()
	return err
}
