package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// Put reads r to its end and stores it as the object with this digest. If the content has another digest, the error is
// integrity_failed and nothing is stored. If the object is in the cache already, and sound, it stays as it is.
func (c *Cache) Put(ctx context.Context, digest string, r io.Reader) error {
	d, err := lock.ParseDigest(digest)
	if err != nil {
		return err
	}
	var p *partial
	for p == nil { // nil without an error: another process stored it while we waited for its lock
		f, err := c.Open(ctx, digest)
		if err == nil {
			f.Close()
			_, err = io.Copy(io.Discard, readOnly{ctx, r})
			return err
		} else if code := fault.CodeOf(err); code != fault.NotFound && code != fault.IntegrityFailed {
			return err
		}
		if p, err = c.lockPartial(ctx, d, false); err != nil {
			return err
		}
	}
	defer p.release()
	if err := c.put(ctx, p, r); err != nil {
		p.remove()
		return err
	}
	return nil
}

func (c *Cache) put(ctx context.Context, p *partial, r io.Reader) error {
	if err := p.file.Truncate(0); err != nil { // removes what an interrupted download has left
		return writeFault(c.dir, err)
	}
	if _, err := io.CopyBuffer(p, readOnly{ctx, r}, make([]byte, bufferSize)); err != nil {
		return fmt.Errorf("store artifact %s: %w", p.digest, err)
	}
	if found := p.digest.Sum(p.hash); found != p.digest {
		return fault.New(fault.IntegrityFailed, "artifact %s: the digest of the data is %s", p.digest, found).
			Hint("do not use that file").Detail("expected", p.digest.String()).Detail("found", found.String())
	}
	return errors.Join(p.publish(), ctx.Err())
}
