package object

import (
	"context"
	"fmt"
	"io"
	"os"

	"hermes-box/guest/protocol"
)

// Unpack extracts a received archive into dir, and makes dir if it does not exist. The first strip elements of each name
// are dropped. The format is found by the first bytes: tar, plain or compressed by gzip, xz or zstd, or zip.
//
// Every file is opened through os.Root, so that no name and no link in the archive leads out of dir; an archive with such
// a name fails as a whole. Owners and special mode bits are dropped. progress is called now and then with the number of
// bytes read and their total.
func (s Store) Unpack(ctx context.Context, a protocol.Artifact, dir string, strip int, progress func(done, total int64)) error {
	f, err := s.Open(ctx, a)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	counted := &counter{ReaderAt: f, report: func(done int64) { progress(done, info.Size()) }}
	if err := extract(ctx, counted, info.Size(), root, strip); err != nil {
		return fmt.Errorf("unpack %s: %w", a.Name, err)
	}
	return nil
}

// counter reports how far a file has been read, every eight megabytes.
type counter struct {
	io.ReaderAt
	report   func(done int64)
	reported int64
}

func (c *counter) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, off)
	if done := off + int64(n); done-c.reported >= 8<<20 {
		c.reported = done
		c.report(done)
	}
	return n, err
}
