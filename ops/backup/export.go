package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"hermes-box/guest/protocol/tree"
)

// Names in an exported file, in this order. The manifest describes the data completely. The tar entries hold only what
// tar can hold: sockets are only in the manifest, and holes are written as zeros.
const (
	exportEnvelope  = "envelope.json"
	exportManifest  = "manifest.jsonl" // the Header, then a line for each entry and problem as in a bundle
	exportLock      = "hermes-box.lock"
	exportArtifacts = "artifacts/" // <algo>/<hex>
	exportData      = "data"
)

// ArtifactCache opens artifacts by digest, and checks them.
type ArtifactCache interface {
	Open(ctx context.Context, digest string) (*os.File, error)
}

// Export writes to w one age file that holds a backup and everything that a restore of it needs. The file is
// encrypted to the given recipients or, with a single age.ScryptRecipient, with a passphrase. It holds a tar compressed
// with zstd, so that it can be opened by hand:
//
//	age -d FILE | zstd -d | tar x
//
// Every chunk is checked before its bytes are written. After an error, w holds an incomplete file.
func Export(ctx context.Context, b *Bundle, w io.Writer, to []age.Recipient, artifacts ArtifactCache) error {
	defer limitMemory()()
	aw, err := age.Encrypt(w, to...)
	if err != nil {
		return err
	}
	zw, err := zstd.NewWriter(aw, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(workers), zstd.WithWindowSize(4<<20))
	if err != nil {
		return err
	}
	x := &exporter{ctx: ctx, b: b, tar: tar.NewWriter(zw)}
	if err := x.all(artifacts); err != nil {
		zw.Close()
		return fmt.Errorf("export %s: %w", b.ID, err)
	}
	return errors.Join(x.tar.Close(), zw.Close(), aw.Close())
}

// ForPassphrase reports whether an age file begins like one that a passphrase opens.
func ForPassphrase(r io.Reader) bool {
	const start = "age-encryption.org/v1\n-> scrypt "
	head := make([]byte, len(start))
	_, err := io.ReadFull(r, head)
	return err == nil && string(head) == start
}

type exporter struct {
	ctx context.Context
	b   *Bundle
	tar *tar.Writer
}

func (x *exporter) all(artifacts ArtifactCache) error {
	if err := x.file(exportEnvelope, x.b.Envelope.encode()); err != nil {
		return err
	}
	if err := x.manifest(); err != nil {
		return err
	}
	if err := x.file(exportLock, []byte(x.b.Lock)); err != nil {
		return err
	}
	done := map[string]bool{}
	for _, a := range x.b.Artifacts {
		if !done[a.Digest] {
			done[a.Digest] = true
			if err := x.artifact(a, artifacts); err != nil {
				return fmt.Errorf("artifact %s: %w", a.Name, err)
			}
		}
	}
	return x.data()
}

func (x *exporter) header(name string, size int64) error {
	return x.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: size, ModTime: x.b.Time})
}

func (x *exporter) file(name string, data []byte) error {
	if err := x.header(name, int64(len(data))); err != nil {
		return err
	}
	_, err := x.tar.Write(data)
	return err
}

// manifest writes the header, entries and problems of the bundle, without references to chunks. The tar header needs
// the size of all lines first, so the lines are made twice.
func (x *exporter) manifest() error {
	var n counter
	if err := x.lines(&n); err != nil {
		return err
	}
	if err := x.header(exportManifest, int64(n)); err != nil {
		return err
	}
	return x.lines(x.tar)
}

func (x *exporter) lines(w io.Writer) error {
	head := make([]byte, x.b.start)
	if _, err := x.b.spool.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var buf []byte
	err := x.b.each(func(l *line) error {
		buf = appendLine(buf[:0], l.raw, nil)
		_, err := w.Write(buf)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range x.b.Problems {
		text, err := problemLine(p)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func (x *exporter) artifact(a Artifact, cache ArtifactCache) error {
	name, err := artifactName(a.Digest)
	if err != nil {
		return err
	}
	f, err := cache.Open(x.ctx, a.Digest)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := x.header(name, info.Size()); err != nil {
		return err
	}
	_, err = io.Copy(x.tar, reader{x.ctx, f})
	return err
}

func (x *exporter) data() error {
	f, err := x.b.fetch(x.ctx, x.b.loads)
	if err != nil {
		return err
	}
	defer f.close()
	return x.b.each(func(l *line) error {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		e, err := l.entry()
		if err != nil || e.Type == tree.Socket {
			return err
		}
		h, err := tarHeader(e)
		if err != nil {
			return err
		}
		if err := x.tar.WriteHeader(h); err != nil {
			return fmt.Errorf("%q: %w", e.Path, err)
		}
		if h.Typeflag != tar.TypeReg {
			return nil
		}
		out := io.Writer(x.tar)
		if e.Sparse {
			out = &holes{w: x.tar, segments: e.Segments}
		}
		if err := f.copy(out, l.refs); err != nil {
			return fmt.Errorf("%q: %w", e.Path, err)
		}
		if s, ok := out.(*holes); ok {
			return s.zeros(e.Size - s.at)
		}
		return nil
	})
}

// tarHeader returns the header for an entry. An extended attribute whose name or value tar cannot hold is only in the
// manifest.
func tarHeader(e *tree.Entry) (*tar.Header, error) {
	name := exportData + "/" + string(e.Path)
	if string(e.Path) == "." {
		name = exportData
	}
	h := &tar.Header{Format: tar.FormatPAX, Name: name, Mode: int64(e.Mode), Uid: int(e.UID), Gid: int(e.GID), ModTime: time.Unix(0, e.MTime)}
	for _, x := range e.Xattrs {
		if len(x.Value) > 0 && bytes.IndexByte(x.Name, '=') < 0 {
			if h.PAXRecords == nil {
				h.PAXRecords = map[string]string{}
			}
			h.PAXRecords["SCHILY.xattr."+string(x.Name)] = string(x.Value)
		}
	}
	switch {
	case e.Link != nil:
		h.Typeflag, h.Linkname, h.PAXRecords = tar.TypeLink, exportData+"/"+string(e.Link), nil
	case e.Type == tree.File:
		h.Typeflag, h.Size = tar.TypeReg, e.Size
	case e.Type == tree.Dir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case e.Type == tree.Symlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, string(e.Target)
	case e.Type == tree.Fifo:
		h.Typeflag = tar.TypeFifo
	case e.Type == tree.Char, e.Type == tree.Block:
		h.Typeflag = tar.TypeChar
		if e.Type == tree.Block {
			h.Typeflag = tar.TypeBlock
		}
		h.Devmajor, h.Devminor = int64(unix.Major(e.Device)), int64(unix.Minor(e.Device)) //nolint:gosec
	default:
		return nil, fmt.Errorf("%q: a tar cannot hold a %s", e.Path, e.Type)
	}
	return h, nil
}

// holes writes the data of a file with holes, and zeros for the holes.
type holes struct {
	w        io.Writer
	segments []tree.Segment
	at       int64
}

func (h *holes) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(h.segments) == 0 {
			return n, errors.New("there is data after the last segment")
		}
		s := &h.segments[0]
		if err := h.zeros(s.Offset - h.at); err != nil {
			return n, err
		}
		part := p[:min(int64(len(p)), s.Length)]
		m, err := h.w.Write(part)
		n += m
		h.at += int64(m)
		if err != nil {
			return n, err
		}
		s.Offset, s.Length = s.Offset+int64(m), s.Length-int64(m)
		if p = p[m:]; s.Length == 0 {
			h.segments = h.segments[1:]
		}
	}
	return n, nil
}

var zeroes [64 << 10]byte

func (h *holes) zeros(n int64) error {
	h.at += n
	for n > 0 {
		m, err := h.w.Write(zeroes[:min(n, int64(len(zeroes)))])
		if err != nil {
			return err
		}
		n -= int64(m)
	}
	return nil
}
