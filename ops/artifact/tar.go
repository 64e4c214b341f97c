package artifact

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"

	"hermes-box/ops/lock"
)

// WriteTar streams objects as a tar of regular files named "sha256/<hex>" and "sha512/<hex>", in the order given and
// each once, as the guest's receive verb expects. progress, if not nil, is called with the bytes of content that were
// sent so far, and with their total.
//
// Objects are verified as they are sent. The last part of an object is sent only after its digest was verified. So a
// corrupt object ends the stream and never arrives complete; it is moved aside and reported as integrity_failed.
func (c *Cache) WriteTar(ctx context.Context, w io.Writer, digests []string, progress func(done, total int64)) error {
	var list []lock.Digest
	var done, total int64
	seen := map[lock.Digest]bool{}
	for _, text := range digests {
		d, f, err := c.open(text)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		f.Close()
		if err != nil {
			return readFault(ctx, d, err)
		}
		if !seen[d] {
			seen[d] = true
			list = append(list, d)
			total += info.Size()
		}
	}
	count := func(n int) {
		done += int64(n)
		if progress != nil {
			progress(done, total)
		}
	}
	t := tar.NewWriter(w)
	buffers := [2][]byte{make([]byte, bufferSize), make([]byte, bufferSize)}
	for _, d := range list {
		if err := c.writeObject(ctx, t, d, buffers, count); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return sendFault(ctx, err)
	}
	return nil
}

func (c *Cache) writeObject(ctx context.Context, t *tar.Writer, d lock.Digest, buffers [2][]byte, count func(int)) error {
	_, f, err := c.open(d.String())
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return readFault(ctx, d, err)
	}
	begun := false
	send := func(b []byte) error {
		if !begun {
			begun = true
			if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: d.Path(), Size: info.Size(), Mode: 0o444}); err != nil {
				return sendFault(ctx, err)
			}
		}
		if _, err := t.Write(b); err != nil {
			return sendFault(ctx, err)
		}
		count(len(b))
		return nil
	}
	h := d.New()
	var held []byte
	for i := 0; ; i++ {
		n, err := io.ReadFull(readOnly{ctx, f}, buffers[i%2])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return readFault(ctx, d, err)
		}
		if n == 0 {
			break
		}
		h.Write(buffers[i%2][:n])
		if held != nil {
			if err := send(held); err != nil {
				return err
			}
		}
		held = buffers[i%2][:n]
	}
	if found := d.Sum(h); found != d {
		return c.corrupt(ctx, d, f, found)
	}
	return send(held)
}

// sendFault returns the error for a failed write to the stream.
func sendFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx, "upload")
	}
	return fmt.Errorf("send artifacts: %w", err)
}
