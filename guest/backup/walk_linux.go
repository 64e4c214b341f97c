package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"hermes-box/guest/protocol/tree"
)

// walk is the state of one Send.
type walk struct {
	Source
	ctx    context.Context
	w      *tree.Writer
	device uint64            // of the root
	links  map[uint64]string // paths of files with several links, by inode
	buf    []byte
}

// Send writes the tree to w and returns its summary. A file that cannot be read, or that belongs to another file
// system, is a Problem in the stream and does not end it.
func (s Source) Send(ctx context.Context, w io.Writer) (tree.Summary, error) {
	async := newAsyncWriter(w)
	sum, err := s.send(ctx, async)
	if closed := async.Close(); err == nil {
		err = closed
	}
	return sum, err
}

func (s Source) send(ctx context.Context, w io.Writer) (tree.Summary, error) {
	manyFiles()
	h := tree.Header{Version: tree.Version, Arch: runtime.GOARCH}
	if !s.Taken.IsZero() {
		h.Taken = s.Taken.UnixNano()
	}
	out, err := tree.NewWriter(w, h)
	if err != nil {
		return tree.Summary{}, err
	}
	k := &walk{Source: s, ctx: ctx, w: out, links: map[uint64]string{}, buf: make([]byte, tree.MaxData)}
	root, err := unix.Open(s.Root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return tree.Summary{}, fmt.Errorf("open %s: %w", s.Root, err)
	}
	defer unix.Close(root)
	e, st, err := stat(root, ".", []byte("."))
	if err != nil {
		return tree.Summary{}, fmt.Errorf("read %s: %w", s.Root, err)
	}
	k.device = st.Dev
	if e.Xattrs, err = xattrs(root); err != nil {
		return tree.Summary{}, fmt.Errorf("extended attributes of %s: %w", s.Root, err)
	}
	if err := k.w.Entry(e); err != nil {
		return tree.Summary{}, err
	}
	if err := k.dir(root, nil); err != nil {
		return tree.Summary{}, err
	}
	return k.w.End()
}

// problem reports a file that could not be read.
func (k *walk) problem(path []byte, reason string) error {
	return k.w.Problem(tree.Problem{Path: path, Reason: reason})
}

// dir sends the files in a directory. It returns an error if the stream cannot be written or the context has ended; a
// file that cannot be read is a Problem.
func (k *walk) dir(fd int, path []byte) error {
	names, err := names(fd)
	if err != nil {
		if perr := k.problem(orRoot(path), err.Error()); perr != nil {
			return perr
		}
	}
	for _, name := range names {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		at := join(path, name)
		if k.Skip[string(at)] {
			continue
		}
		if err := k.file(fd, name, at); err != nil {
			return err
		}
	}
	return nil
}

// file sends one file and, if it is a directory, the files in it.
func (k *walk) file(dir int, name string, path []byte) error {
	e, st, err := stat(dir, name, path)
	if err != nil {
		if errors.Is(err, unix.ENOENT) {
			err = errors.New("it vanished while the backup was made")
		}
		return k.problem(path, err.Error())
	}
	switch {
	case len(name) > 255 || !tree.ValidPath(path):
		return k.problem(path, "a name that no backup can hold")
	case st.Dev != k.device:
		return k.problem(path, "another file system is mounted there")
	case (e.Type == tree.Char || e.Type == tree.Block) && e.Device != 0: // 0:0 is a whiteout of an overlay
		return k.problem(path, "devices are not backed up")
	}
	flags := unix.O_PATH
	if e.Type == tree.Dir || e.Type == tree.File {
		flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	}
	fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return k.problem(path, "open: "+err.Error())
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Ino != st.Ino || now.Dev != st.Dev {
		return k.problem(path, "it was replaced while the backup was made")
	}
	if e.Xattrs, err = xattrs(fd); err != nil {
		return k.problem(path, "extended attributes: "+err.Error())
	}
	if e.Type != tree.Dir && st.Nlink > 1 {
		if first, ok := k.links[st.Ino]; ok {
			return k.w.Entry(&tree.Entry{Path: path, Type: e.Type, Mode: e.Mode, UID: e.UID, GID: e.GID, MTime: e.MTime, CTime: e.CTime, Inode: e.Inode,
				Size: e.Size, Device: e.Device, Target: e.Target, Link: []byte(first)})
		}
	}
	if e.Type == tree.File {
		sent, err := k.data(fd, e, st)
		if err != nil || !sent {
			return err
		}
	} else if err := k.w.Entry(e); err != nil {
		return err
	}
	if e.Type != tree.Dir && st.Nlink > 1 {
		k.links[st.Ino] = string(path)
	}
	if e.Type == tree.Dir {
		return k.dir(fd, path)
	}
	return nil
}

// stat returns the entry of a file in a directory, without extended attributes and data.
func stat(dir int, name string, path []byte) (*tree.Entry, unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT); err != nil {
		return nil, st, err
	}
	e := &tree.Entry{Path: path, Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid, MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(), Inode: st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.Type = tree.Dir
	case unix.S_IFREG:
		e.Type, e.Size = tree.File, st.Size
	case unix.S_IFLNK:
		e.Type = tree.Symlink
		target := make([]byte, max(int(st.Size), 4096)+1)
		n, err := unix.Readlinkat(dir, name, target)
		if err != nil {
			return nil, st, err
		}
		e.Target = target[:n]
	case unix.S_IFIFO:
		e.Type = tree.Fifo
	case unix.S_IFSOCK:
		e.Type = tree.Socket
	case unix.S_IFCHR:
		e.Type, e.Device = tree.Char, st.Rdev
	case unix.S_IFBLK:
		e.Type, e.Device = tree.Block, st.Rdev
	}
	return e, st, nil
}

// names returns the names in a directory, sorted. On an error it also returns the names read so far.
func names(fd int) ([]string, error) {
	again, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // Readdirnames moves the offset
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(again), "directory")
	defer f.Close()
	all, err := f.Readdirnames(-1)
	slices.Sort(all)
	return all, err
}

// xattrs returns the extended attributes of an open file, sorted by name.
func xattrs(fd int) ([]tree.Xattr, error) {
	path := fmt.Sprintf("/proc/self/fd/%d", fd) // also for a descriptor that was opened with O_PATH
	list, err := sized(func(buf []byte) (int, error) { return unix.Listxattr(path, buf) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []tree.Xattr
	for name := range bytes.SplitSeq(list, []byte{0}) {
		if len(name) == 0 {
			continue
		}
		value, err := sized(func(buf []byte) (int, error) { return unix.Getxattr(path, string(name), buf) })
		if errors.Is(err, unix.ENODATA) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, tree.Xattr{Name: bytes.Clone(name), Value: value})
	}
	slices.SortFunc(all, func(a, b tree.Xattr) int { return bytes.Compare(a.Name, b.Name) })
	return all, nil
}

// sized calls read with a buffer that is large enough.
func sized(read func(buf []byte) (int, error)) ([]byte, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := read(buf)
		if errors.Is(err, unix.ERANGE) && size < 1<<20 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}

func join(dir []byte, name string) []byte {
	if len(dir) == 0 {
		return []byte(name)
	}
	return append(append(bytes.Clone(dir), '/'), name...)
}

func orRoot(path []byte) []byte {
	if len(path) == 0 {
		return []byte(".")
	}
	return path
}

// manyFiles raises the limit of open files to the maximum, because a walk has a file open for each level of directories.
func manyFiles() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		limit.Cur = limit.Max
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	}
}
