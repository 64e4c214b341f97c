package guest

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip" // half again as fast as the standard library's
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"hermes-box/guest/protocol"
)

// Bounds on what one archive may unpack to, so that a crafted one cannot fill the disk. Real ones are a tenth to
// a half of what they hold, and have ten thousand files at most.
const (
	maxRatio   = 100
	minRoom    = 1 << 20
	maxEntries = 500_000
)

// unpack extracts a received archive into dir, which exists. strip leading path elements are cut off every name.
// Formats are told by their first bytes: tar under gzip, xz, zstd or plain, and zip. Every file is opened
// through os.Root, so that no name and no link of the archive leads out of dir; an archive that tries is refused
// whole. Owners and special modes are dropped. Progress is told as bytes read of a.
func (g *Guest) unpack(ctx context.Context, c protocol.Component, a protocol.Artifact, dir string, strip int) error {
	f, err := g.object(ctx, a)
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
	told := &progress{ReaderAt: f, tell: func(done int64) {
		g.emit(protocol.Event{Component: c.Name, Phase: protocol.PhaseStage, Done: done, Total: info.Size()})
	}}
	if err := extract(ctx, told, info.Size(), root, strip); err != nil {
		return fmt.Errorf("unpack %s: %w", a.Name, err)
	}
	return nil
}

// progress tells how far a file has been read, each time another eight megabytes are.
type progress struct {
	io.ReaderAt
	tell func(done int64)
	told int64
}

func (p *progress) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.ReaderAt.ReadAt(b, off)
	if done := off + int64(n); done-p.told >= 8<<20 {
		p.told = done
		p.tell(done)
	}
	return n, err
}

func extract(ctx context.Context, f io.ReaderAt, size int64, root *os.Root, strip int) error {
	x := extractor{ctx: ctx, root: root, strip: strip, room: minRoom + maxRatio*size}
	stream := reader{ctx, io.NewSectionReader(f, 0, size)}
	magic := make([]byte, 6)
	n, _ := f.ReadAt(magic, 0)
	magic = magic[:n]
	switch {
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return x.zip(f, size)
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(bufio.NewReaderSize(stream, 1<<16))
		if err != nil {
			return err
		}
		return x.tar(r)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		r, err := zstd.NewReader(stream, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		defer r.Close()
		return x.tar(r)
	case bytes.HasPrefix(magic, []byte("\xfd7zXZ\x00")):
		r, err := xz.ReaderConfig{DictCap: 64 << 20}.NewReader(bufio.NewReaderSize(stream, 1<<16))
		if err != nil {
			return err
		}
		return x.tar(r)
	}
	return x.tar(stream)
}

type extractor struct {
	ctx     context.Context
	root    *os.Root
	strip   int
	entries int
	room    int64  // bytes that may still come
	made    string // directory of the last entry
}

func (x *extractor) tar(r io.Reader) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			// Read on: the end of a compressed stream holds its checksum.
			_, err = io.Copy(io.Discard, r)
			return err
		}
		if err != nil {
			return err
		}
		name, err := x.name(h.Name)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		switch h.Typeflag {
		case tar.TypeReg:
			err = x.file(name, h.FileInfo().Mode(), tr)
		case tar.TypeDir:
			err = x.root.MkdirAll(name, 0o755)
		case tar.TypeSymlink:
			err = x.symlink(name, h.Linkname)
		case tar.TypeLink:
			err = x.hardlink(name, h.Linkname)
		case tar.TypeXGlobalHeader:
		default:
			err = fmt.Errorf("%q is neither file, directory nor link", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (x *extractor) zip(r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return err
	}
	for _, f := range z.File {
		name, err := x.name(f.Name)
		if err != nil {
			return err
		}
		mode := f.Mode()
		switch {
		case name == "":
		case mode.IsDir():
			err = x.root.MkdirAll(name, 0o755)
		case mode.IsRegular():
			var in io.ReadCloser
			if in, err = f.Open(); err == nil {
				err = errors.Join(x.file(name, mode, in), in.Close())
			}
		default:
			err = fmt.Errorf("%q is neither file nor directory", f.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// name checks the name of an entry and cuts its leading elements off; "" is an entry to pass over.
func (x *extractor) name(name string) (string, error) {
	if x.entries++; x.entries > maxEntries {
		return "", fmt.Errorf("more than %d entries", maxEntries)
	}
	elems, err := elements(name)
	if err != nil {
		return "", err
	}
	if len(elems) <= x.strip {
		return "", nil
	}
	return path.Join(elems[x.strip:]...), nil
}

// elements splits a relative path. One that is absolute, climbs, or that could be read in two ways is refused.
func elements(name string) ([]string, error) {
	if strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00") {
		return nil, fmt.Errorf("%q is not a relative path", name)
	}
	var elems []string
	for e := range strings.SplitSeq(name, "/") {
		switch e {
		case "", ".":
		case "..":
			return nil, fmt.Errorf("%q climbs out of its directory", name)
		default:
			elems = append(elems, e)
		}
	}
	return elems, nil
}

func (x *extractor) file(name string, mode fs.FileMode, r io.Reader) error {
	if err := x.parent(name); err != nil {
		return err
	}
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	f, err := x.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(reader{x.ctx, r}, x.room+1))
	if x.room -= n; err == nil && x.room < 0 {
		err = fmt.Errorf("it unpacks to more than %d times its size", maxRatio)
	}
	return errors.Join(err, f.Close())
}

// symlink makes a link whose target, read from where it stands, is inside the tree.
func (x *extractor) symlink(name, target string) error {
	if path.IsAbs(target) || strings.ContainsAny(target, "\\\x00") || target == "" {
		return fmt.Errorf("link %q to %q leads out of the archive", name, target)
	}
	if full := path.Join(path.Dir(name), target); full == ".." || strings.HasPrefix(full, "../") {
		return fmt.Errorf("link %q to %q leads out of the archive", name, target)
	}
	if err := x.parent(name); err != nil {
		return err
	}
	return x.root.Symlink(target, name)
}

func (x *extractor) hardlink(name, target string) error {
	elems, err := elements(target)
	if err != nil {
		return err
	}
	if len(elems) <= x.strip {
		return fmt.Errorf("link %q to %q leads out of the archive", name, target)
	}
	if err := x.parent(name); err != nil {
		return err
	}
	return x.root.Link(path.Join(elems[x.strip:]...), name)
}

// parent makes the directory of an entry. An entry below a link is refused: what a link there says would be read
// from another place than it seems.
func (x *extractor) parent(name string) error {
	dir := path.Dir(name)
	if dir == "." || dir == x.made {
		return nil
	}
	for at := dir; at != "."; at = path.Dir(at) {
		if info, err := x.root.Lstat(at); err == nil && !info.IsDir() {
			return fmt.Errorf("%q is below %q, which is no directory", name, at)
		}
	}
	x.made = dir
	return x.root.MkdirAll(dir, 0o755)
}
