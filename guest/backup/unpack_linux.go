package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"hermes-box/guest/protocol/tree"
)

// Unpacked is the result of Unpack.
type Unpacked struct {
	Summary tree.Summary   // of the stream
	Lost    []tree.Problem // what could not be restored on this file system or as this user, such as an owner
}

// Unpack makes the tree of the stream r in the directory root, which must be empty except for lost+found. After an
// error, such as a wrong checksum, root may hold a part of the tree.
//
// The stream cannot reach outside of root, whatever it holds: each name is made in root or in a directory that has an
// entry in the stream, and never through a symlink.
func Unpack(ctx context.Context, root string, r io.Reader) (Unpacked, error) {
	manyFiles()
	ahead := newAsyncReader(r)
	defer ahead.Stop()
	in, err := tree.NewReader(ahead)
	if err != nil {
		return Unpacked{}, err
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Unpacked{}, fmt.Errorf("open %s: %w", root, err)
	}
	u := &unpacking{ctx: ctx, root: fd, made: map[string]bool{}}
	defer u.close()
	there, err := names(fd)
	if err != nil {
		return Unpacked{}, fmt.Errorf("read %s: %w", root, err)
	}
	for _, name := range there {
		if name != lostFound {
			return Unpacked{}, fmt.Errorf("%s is not empty: it has %q", root, name)
		}
	}
	if err := u.stream(in); err != nil {
		return Unpacked{}, err
	}
	return u.out, unix.Syncfs(fd)
}

// lostFound is the directory that mkfs.ext4 makes.
const lostFound = "lost+found"

// unpacking is a tree that is being made.
type unpacking struct {
	ctx  context.Context
	root int
	open []level         // the directories from the root to the current one
	made map[string]bool // paths that a hard link may name: all but directories
	out  Unpacked
	file *newFile // the file whose data is being read
}

// level is a directory that is being filled.
type level struct {
	fd    int
	entry *tree.Entry
}

// newFile is a regular file that is being written.
type newFile struct {
	fd    int
	entry *tree.Entry
	parts []tree.Segment // the parts of its data that are still to come
}

func (u *unpacking) close() {
	if u.file != nil {
		unix.Close(u.file.fd)
	}
	for _, l := range u.open {
		if l.fd != u.root {
			unix.Close(l.fd)
		}
	}
	unix.Close(u.root)
}

// stream handles the records of the stream, and ignores its problems.
func (u *unpacking) stream(in *tree.Reader) error {
	for {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		record, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch v := record.(type) {
		case *tree.Entry:
			err = u.entry(v)
		case tree.Data:
			err = u.file.write(v)
		case tree.Sum:
			err = u.finishFile()
		case tree.Summary:
			err = u.finish(v)
		}
		if err != nil {
			return err
		}
	}
}

// entry makes one file, without its data. The root exists already.
func (u *unpacking) entry(e *tree.Entry) error {
	if e.Reused {
		return fmt.Errorf("entry %q has no data", e.Path)
	}
	if len(u.open) == 0 {
		if string(e.Path) != "." {
			return errors.New("the first entry is not the root")
		}
		u.open = []level{{u.root, e}}
		return nil
	}
	dir, name, err := u.parent(e.Path)
	if err != nil {
		return err
	}
	if err := u.make(dir, name, e); err != nil {
		return fmt.Errorf("make %q: %w", e.Path, err)
	}
	if e.Type != tree.Dir {
		u.made[string(e.Path)] = true
	}
	return nil
}

// parent returns the open directory that path is in, and the last element of path. It closes the directories that are
// complete.
func (u *unpacking) parent(path []byte) (dir int, name string, err error) {
	above, base := []byte("."), path
	if i := bytes.LastIndexByte(path, '/'); i >= 0 {
		above, base = path[:i], path[i+1:]
	}
	for i := len(u.open) - 1; i >= 0; i-- {
		if !bytes.Equal(u.open[i].entry.Path, above) {
			continue
		}
		for len(u.open) > i+1 {
			if err := u.leave(); err != nil {
				return 0, "", err
			}
		}
		return u.open[i].fd, string(base), nil
	}
	return 0, "", fmt.Errorf("entry %q does not follow its directory", path)
}

// make makes a file of any type that a backup can have. No file of that name may exist, unless it is lost+found.
func (u *unpacking) make(dir int, name string, e *tree.Entry) (err error) {
	switch {
	case e.Link != nil:
		return u.link(dir, name, e)
	case e.Type == tree.Dir:
		err = unix.Mkdirat(dir, name, 0o700)
		if errors.Is(err, unix.EEXIST) && string(e.Path) == lostFound {
			err = nil
		}
		if err != nil {
			return err
		}
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		u.open = append(u.open, level{fd, e})
		return nil
	case e.Type == tree.File:
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		u.file = &newFile{fd: fd, entry: e, parts: slices.Clone(e.Segments)}
		if !e.Sparse && e.Size > 0 {
			u.file.parts = []tree.Segment{{Length: e.Size}}
		}
		return nil
	case e.Type == tree.Symlink:
		err = unix.Symlinkat(string(e.Target), dir, name)
	case e.Type == tree.Fifo:
		err = unix.Mknodat(dir, name, unix.S_IFIFO|0o600, 0)
	case e.Type == tree.Socket:
		err = unix.Mknodat(dir, name, unix.S_IFSOCK|0o600, 0)
	case e.Type == tree.Char && e.Device == 0:
		if err = unix.Mknodat(dir, name, unix.S_IFCHR|0o600, 0); errors.Is(err, unix.EPERM) {
			u.lost(e, "a whiteout of an overlay", err)
			return nil
		}
	default:
		return errors.New("it is a device, and backups have no devices")
	}
	if err != nil {
		return err
	}
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return u.attributes(fd, e)
}

// link makes a hard link to a file that the stream has made.
func (u *unpacking) link(dir int, name string, e *tree.Entry) error {
	if !u.made[string(e.Link)] {
		return fmt.Errorf("a link to %q, which is not there", e.Link)
	}
	from := u.root
	parts := bytes.Split(e.Link, []byte("/"))
	for _, part := range parts[:len(parts)-1] {
		next, err := unix.Openat(from, string(part), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if from != u.root {
			unix.Close(from)
		}
		if err != nil {
			return err
		}
		from = next
	}
	err := unix.Linkat(from, string(parts[len(parts)-1]), dir, name, 0)
	if from != u.root {
		unix.Close(from)
	}
	return err
}

// write writes the next data of a file to where it belongs.
func (f *newFile) write(p []byte) error {
	for len(p) > 0 {
		part := &f.parts[0] // the reader lets no more data through than the parts have
		n, err := unix.Pwrite(f.fd, p[:min(int64(len(p)), part.Length)], part.Offset)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write %q: %w", f.entry.Path, err)
		}
		p = p[n:]
		part.Offset, part.Length = part.Offset+int64(n), part.Length-int64(n)
		if part.Length == 0 {
			f.parts = f.parts[1:]
		}
	}
	return nil
}

// finishFile gives the current file its size and its attributes.
func (u *unpacking) finishFile() error {
	f := u.file
	u.file = nil
	defer unix.Close(f.fd)
	if err := unix.Ftruncate(f.fd, f.entry.Size); err != nil {
		return fmt.Errorf("size of %q: %w", f.entry.Path, err)
	}
	return u.attributes(f.fd, f.entry)
}

// leave gives the current directory its attributes, and closes it. The attributes are set last, because making files in
// the directory would change them.
func (u *unpacking) leave() error {
	l := u.open[len(u.open)-1]
	u.open = u.open[:len(u.open)-1]
	err := u.attributes(l.fd, l.entry)
	if l.fd != u.root {
		unix.Close(l.fd)
	}
	return err
}

// finish completes the directories.
func (u *unpacking) finish(s tree.Summary) error {
	for len(u.open) > 0 {
		if err := u.leave(); err != nil {
			return err
		}
	}
	u.out.Summary = s
	return nil
}
