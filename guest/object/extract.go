package object

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

	"github.com/klauspost/compress/gzip" // 1.5 times as fast as the standard library's
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Limits for the content of one archive, so that a small crafted archive cannot fill the disk. Real archives unpack to
// two to ten times their size and have at most ten thousand files.
const (
	maxRatio   = 100
	minRoom    = 1 << 20
	maxEntries = 500_000
)

// extract unpacks an archive into root. See Store.Unpack.
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
	room    int64  // bytes that may still be written
	made    string // the last directory that parent made
}

func (x *extractor) tar(r io.Reader) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			// Read to the end, since a compressed stream ends with its checksum.
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

// name checks the name of an entry and drops its leading elements. If nothing is left, the caller skips the entry.
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

// elements splits a relative path. It refuses a path that is absolute or has "..", a backslash or a NUL.
func elements(name string) ([]string, error) {
	if strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00") {
		return nil, fmt.Errorf("path %q is absolute, or has a backslash or a NUL", name)
	}
	var elems []string
	for e := range strings.SplitSeq(name, "/") {
		switch e {
		case "", ".":
		case "..":
			return nil, fmt.Errorf("path %q has an element \"..\"", name)
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
		err = fmt.Errorf("the archive unpacks to more than %d times its size", maxRatio)
	}
	return errors.Join(err, f.Close())
}

// symlink makes a symlink. Its target, relative to its directory, must be inside the tree.
func (x *extractor) symlink(name, target string) error {
	if path.IsAbs(target) || strings.ContainsAny(target, "\\\x00") || target == "" {
		return fmt.Errorf("the target %q of symlink %q is empty or absolute, or has a backslash or a NUL", target, name)
	}
	if full := path.Join(path.Dir(name), target); full == ".." || strings.HasPrefix(full, "../") {
		return fmt.Errorf("the target %q of symlink %q is outside of the archive", target, name)
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
		return fmt.Errorf("the target %q of hard link %q is not unpacked", target, name)
	}
	if err := x.parent(name); err != nil {
		return err
	}
	return x.root.Link(path.Join(elems[x.strip:]...), name)
}

// parent makes the directory of an entry. It refuses an entry below a symlink, which would be written to another
// place.
func (x *extractor) parent(name string) error {
	dir := path.Dir(name)
	if dir == "." || dir == x.made {
		return nil
	}
	for at := dir; at != "."; at = path.Dir(at) {
		if info, err := x.root.Lstat(at); err == nil && !info.IsDir() {
			return fmt.Errorf("%q is below %q, which is not a directory", name, at)
		}
	}
	x.made = dir
	return x.root.MkdirAll(dir, 0o755)
}
