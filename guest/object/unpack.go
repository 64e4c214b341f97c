package object

import (
	"context"
	"fmt"
	"io"
	"os"

	"hermes-box/guest/protocol"
)

// Unpack extracts a received archive into dir, and makes dir if it does not exist. The first strip elements of each
// name are dropped. The first bytes show the format: a zip, or a tar that may be compressed by gzip, xz or zstd.
//
// Every file is opened through os.Root, so that nothing is written outside dir. Unpack fails at a name that leads out
// of dir. If it fails, the files that it has made stay. Owners and special mode bits are dropped. progress is called
// every few megabytes with the position that was read last and the size of the archive. A zip is first read at its end.
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

// counter reports the position in a file up to which it was read, every eight megabytes.
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
