package ops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// DrillDir is the directory into which a drill restores files. It always has this name, so that the next command
// finds what a killed drill has left.
func (b *Box) DrillDir() string { return filepath.Join(b.drills(), "files") }

// writeFiles writes the files of the backup into a private directory.
func (d *drill) writeFiles(ctx context.Context, p *Progress) error {
	if err := d.roomFor(d.bundle.Summary.Bytes); err != nil {
		return err
	}
	if err := os.MkdirAll(d.drills(), 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(d.DrillDir()); !os.IsNotExist(err) { // the drill would remove it at its end
		return fault.New(fault.AlreadyExists, "%s is in the way, and no drill has made it", d.DrillDir()).
			Hint("move it away: mv %s %s", shellescape.Quote(d.DrillDir()), shellescape.Quote(d.DrillDir()+".old"))
	}
	if err := d.journal.begin("files"); err != nil {
		return err
	}
	if err := os.Mkdir(d.DrillDir(), 0o700); err != nil {
		return errors.Join(err, d.journal.remove())
	}
	d.writing = true
	g := &getting{dir: d.DrillDir(), bundle: d.bundle, result: &BackupGot{}}
	defer func() {
		g.bundle = nil // so that close does not close the bundle, which is still needed
		g.close()
	}()
	if err := g.want("/data"); err != nil {
		return err
	}
	err := g.get(ctx, p)
	if noSpace(err) {
		return makeRoom(err, d.drills())
	}
	return err
}

// filesEntry is the part of an entry that a directory of this machine can hold.
type filesEntry struct {
	Path   []byte    `json:"path"`
	Type   tree.Type `json:"type"`
	Mode   uint32    `json:"mode,omitempty"`   // of files and directories
	MTime  int64     `json:"mtime,omitempty"`  // of files and directories
	Size   int64     `json:"size,omitempty"`   // of files
	Digest string    `json:"digest,omitempty"` // of files, without holes
	Target []byte    `json:"target,omitempty"` // of symlinks
	Link   []byte    `json:"link,omitempty"`   // the file that it is a hard link to
}

// heldAs returns the part of an entry that a directory of this machine holds; false for sockets, pipes and devices.
func heldAs(e *tree.Entry) (filesEntry, bool) {
	f := filesEntry{Path: e.Path, Type: e.Type}
	switch {
	case e.Type == tree.Symlink:
		f.Target = e.Target
	case e.Type == tree.File && e.Link != nil:
		f.Link = e.Link
	case e.Type == tree.File:
		f.Mode, f.MTime, f.Size, f.Digest = e.Mode&0o777, e.MTime, e.Size, e.Digest
	case e.Type == tree.Dir:
		f.Mode, f.MTime = e.Mode&0o777, e.MTime
	default:
		return f, false
	}
	return f, true
}

// compareFiles reads the directory and compares it with the backup.
func (d *drill) compareFiles(ctx context.Context, p *Progress) error {
	root, err := os.OpenRoot(filepath.Join(d.DrillDir(), "data"))
	if err != nil {
		return err
	}
	defer root.Close()
	r := d.result
	r.Compared = append(r.Compared, "names", "types", "modes", "times of files and directories", "sizes", "data", "targets of symlinks", "hard links")
	r.NotCompared = append(r.NotCompared, "owners, extended attributes, and the set-user-id, set-group-id and sticky bits: a drill into a directory does not set them",
		"the holes in files: only the data around them is read")
	want, got := sha256.New(), sha256.New()
	listed, expected, special := 1, 0, 0 // listed counts the root too, which is in no directory
	err = d.bundle.Each(func(e *tree.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		held, ok := heldAs(e)
		if !ok {
			special++
			return nil
		}
		expected++
		found, names, err := look(root, e, held)
		if unread(err) {
			return fmt.Errorf("read the restored file %s: %w", shown(e.Path), err)
		} else if err != nil {
			r.differ("%s: %v", shown(e.Path), err)
		} else if !same(held, found) {
			r.differ("%s: it is %s, not %s", shown(e.Path), describe(found), describe(held))
		}
		listed += names
		add(want, held)
		add(got, found)
		r.Entries++
		r.Bytes += dataOf(e)
		p.Bytes(r.Bytes, d.bundle.Summary.Bytes)
		return nil
	})
	if err != nil {
		return err
	}
	if listed != expected {
		r.differ("files in the directory: %d, not %d", listed, expected)
	}
	if special > 0 {
		r.NotCompared = append(r.NotCompared, fmt.Sprintf("sockets, pipes and devices, which are not written: %d", special))
	}
	r.Expected, r.Found = hex.EncodeToString(want.Sum(nil)), hex.EncodeToString(got.Sum(nil))
	r.say(p)
	return nil
}

// dataOf returns the number of bytes that an entry has of its own.
func dataOf(e *tree.Entry) int64 {
	if e.Type != tree.File || e.Link != nil {
		return 0
	}
	return e.Data()
}

// unread reports whether an error of look says nothing about the backup, for example because the disk has failed.
func unread(err error) bool {
	system := syscall.Errno(0)
	return errors.As(err, &system) && system != syscall.ENOENT && system != syscall.ENOTDIR
}

// look reads the restored file of an entry. If it is a directory, look counts the names in it, and changes its mode so
// that it can be read and removed.
func look(root *os.Root, e *tree.Entry, held filesEntry) (found filesEntry, names int, err error) {
	name := string(e.Path)
	info, err := root.Lstat(name)
	if err != nil {
		return found, 0, err
	}
	found = filesEntry{Path: e.Path, Mode: uint32(info.Mode().Perm()), MTime: info.ModTime().UnixNano()}
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		target, err := root.Readlink(name)
		return filesEntry{Path: e.Path, Type: tree.Symlink, Target: []byte(target)}, 0, err
	case fs.ModeDir:
		found.Type = tree.Dir
		if err := root.Chmod(name, 0o700); err != nil {
			return found, 0, err
		}
		dir, err := root.Open(name)
		if err != nil {
			return found, 0, err
		}
		defer dir.Close()
		list, err := dir.Readdirnames(-1)
		return found, len(list), err
	case 0:
		found.Type, found.Size = tree.File, info.Size()
	default:
		return found, 0, fmt.Errorf("it is %s", info.Mode())
	}
	if held.Link != nil {
		first, err := root.Lstat(string(held.Link))
		if err == nil && os.SameFile(info, first) {
			return filesEntry{Path: e.Path, Type: tree.File, Link: held.Link}, 0, nil
		}
		return found, 0, err
	}
	found.Digest, err = dataDigest(root, e, info.Mode())
	return found, 0, err
}

// dataDigest returns the digest of the data in a file. A file that its owner may not read is made readable.
func dataDigest(root *os.Root, e *tree.Entry, mode fs.FileMode) (string, error) {
	name := string(e.Path)
	if mode.Perm()&0o400 == 0 {
		if err := root.Chmod(name, mode.Perm()|0o400); err != nil {
			return "", err
		}
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if !e.Sparse {
		_, err = io.Copy(h, f)
	}
	for _, s := range e.Segments {
		if err == nil {
			_, err = io.Copy(h, io.NewSectionReader(f, s.Offset, s.Length))
		}
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

func same(a, b filesEntry) bool {
	x, y := sha256.New(), sha256.New()
	add(x, a)
	add(y, b)
	return bytes.Equal(x.Sum(nil), y.Sum(nil))
}

// add adds an entry to the digest of a manifest.
func add(h hash.Hash, e filesEntry) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // bytes and numbers always encode
	}
	h.Write(append(line, '\n'))
}

func describe(e filesEntry) string {
	e.Path = nil
	text, _ := json.Marshal(e)
	return string(text)
}

// shown returns a path as text.
func shown(path []byte) string { return strings.ToValidUTF8(string(path), "\uFFFD") }

// removeTree removes a directory and everything in it, even directories that their owner may not write to. A missing
// directory is no error.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unlock(root, ".")
	root.Close()
	return os.RemoveAll(dir)
}

// unlock gives the owner access to a directory and to those in it. It ignores errors, because the removal that follows
// reports them.
func unlock(root *os.Root, name string) {
	_ = root.Chmod(name, 0o700)
	dir, err := root.Open(name)
	if err != nil {
		return
	}
	list, _ := dir.ReadDir(-1)
	dir.Close()
	for _, e := range list {
		if e.IsDir() {
			unlock(root, filepath.Join(name, e.Name()))
		}
	}
}
