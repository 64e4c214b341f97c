package ops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// get copies everything into a temporary directory, and then renames the copies to their final names.
func (g *getting) get(ctx context.Context, p *Progress) (err error) {
	if g.temp, err = newScratch(g.dir); fault.CodeOf(err) == fault.Busy {
		return err
	} else if err != nil {
		return unwritableCopy(err)
	}
	if g.root, err = os.OpenRoot(g.temp.copies()); err != nil {
		return unwritableCopy(err)
	}
	total := int64(0)
	err = g.bundle.Each(func(e *tree.Entry) error {
		if _, ok := g.place(e.Path); ok {
			total += e.Data()
		}
		return nil
	})
	if err != nil {
		return err
	}
	// A path may be wanted twice: by itself and with its directory.
	for _, w := range g.wanted {
		only := func(e *tree.Entry) bool { _, ok := w.place(e.Path); return ok }
		err := g.bundle.Files(ctx, only, func(e *tree.Entry, copy backup.Copy) error {
			name, _ := w.place(e.Path)
			return g.entry(ctx, w, name, e, copy, func(n int) { g.result.Bytes += int64(n); p.Bytes(g.result.Bytes, max(total, g.result.Bytes)) })
		})
		if err != nil {
			return err
		}
	}
	if err := g.finishDirs(); err != nil {
		return err
	}
	for _, w := range g.wanted {
		to := filepath.Join(g.dir, w.name)
		switch err := store.RenameNew(filepath.Join(g.temp.copies(), w.name), to); {
		case errors.Is(err, fs.ErrExist):
			return inTheWay(to)
		case errors.Is(err, fs.ErrNotExist): // it was skipped
		case err != nil:
			return unwritableCopy(err)
		default:
			g.result.Paths = append(g.result.Paths, to)
			if err := g.finishTop(w.name, to); err != nil {
				return unwritableCopy(err)
			}
		}
	}
	return nil
}

// place returns the name below the temporary directory that the copy of a path gets; false if it is not wanted.
func (w wanted) place(path []byte) (string, bool) {
	if bytes.Equal(path, w.path) {
		return w.name, true
	}
	if string(w.path) == "." {
		return w.name + "/" + string(path), true
	}
	rest, ok := bytes.CutPrefix(path, append(slices.Clone(w.path), '/'))
	return w.name + "/" + string(rest), ok
}

func (g *getting) place(path []byte) (string, bool) {
	for _, w := range g.wanted {
		if name, ok := w.place(path); ok {
			return name, true
		}
	}
	return "", false
}

// entry makes the copy of one entry.
func (g *getting) entry(ctx context.Context, w wanted, name string, e *tree.Entry, copy backup.Copy, report func(int)) error {
	at := time.Unix(0, e.MTime)
	switch {
	case e.Type == tree.Dir:
		kept := *e
		kept.Path = []byte(name)
		g.dirs = append(g.dirs, kept)
		return wrote(g.root.Mkdir(name, 0o700), e)
	case e.Type == tree.Symlink:
		g.result.Files++
		if e.Link != nil { // a hard link to a symlink: only the entry of that symlink has the target
			first, err := g.bundle.Entry(e.Link)
			if err != nil {
				return err
			}
			e = first
		}
		return wrote(g.root.Symlink(string(e.Target), name), e)
	case e.Type != tree.File:
		g.result.Skipped = append(g.result.Skipped, strings.ToValidUTF8(string(e.Path), "\uFFFD"))
		return nil
	}
	g.result.Files++
	if e.Link != nil {
		if first, ok := w.place(e.Link); ok {
			return wrote(g.root.Link(first, name), e)
		}
		_, data, err := g.bundle.Get(ctx, e.Path)
		if err != nil {
			return err
		}
		defer data.Close()
		if e, err = g.bundle.Entry(e.Link); err != nil {
			return err
		}
		copy = func(w io.Writer) error { _, err := io.Copy(w, data); return err }
	}
	f, err := g.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return wrote(err, e)
	}
	defer f.Close()
	out := &segments{f: f, e: e, report: report}
	if err := copy(out); err != nil {
		return wrote(err, e)
	}
	err = errors.Join(f.Truncate(e.Size), f.Chmod(os.FileMode(e.Mode&0o777)), f.Close(), g.root.Chtimes(name, at, at))
	return wrote(err, e)
}

// finishDirs sets the modes and times of the directories, which are complete now. It leaves out those at the top: a
// directory that cannot be written to cannot be moved.
func (g *getting) finishDirs() error {
	for _, e := range slices.Backward(g.dirs) {
		at := time.Unix(0, e.MTime)
		if name := string(e.Path); strings.Contains(name, "/") {
			if err := errors.Join(g.root.Chtimes(name, at, at), g.root.Chmod(name, os.FileMode(e.Mode&0o777))); err != nil {
				return unwritableCopy(err)
			}
		}
	}
	return nil
}

// finishTop sets the mode and the time of a directory at the top, after it was moved to a path.
func (g *getting) finishTop(name, to string) error {
	for _, e := range g.dirs {
		if at := time.Unix(0, e.MTime); string(e.Path) == name {
			return errors.Join(os.Chtimes(to, at, at), os.Chmod(to, os.FileMode(e.Mode&0o777)))
		}
	}
	return nil
}

// close closes the backup, and removes the temporary directory.
func (g *getting) close() {
	if g.root != nil {
		g.root.Close()
	}
	if g.temp != nil {
		g.temp.remove()
	}
	if g.bundle != nil {
		g.bundle.Close()
	}
}

// wrote adds the name of an entry to an error of this machine's disk.
func wrote(err error, e *tree.Entry) error {
	var p *fs.PathError
	var l *os.LinkError
	if errors.As(err, &p) || errors.As(err, &l) {
		return unwritableCopy(fmt.Errorf("%q: %w", e.Path, err))
	}
	return err
}

func unwritableCopy(err error) error {
	return fault.New(fault.ExternalFailed, "write the copy: %w", err).
		Hint("give a directory with enough space that you can write to, with --to DIR")
}

// segments writes the data of a file where it belongs, so that holes stay holes.
type segments struct {
	f      *os.File
	e      *tree.Entry
	at     int64 // offset in the file
	i      int   // the segment
	report func(int)
}

func (s *segments) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p
		if s.e.Sparse {
			if s.i == len(s.e.Segments) {
				return n, errors.New("there is data after the last segment")
			}
			seg := s.e.Segments[s.i]
			s.at = max(s.at, seg.Offset)
			part = p[:min(int64(len(p)), seg.Offset+seg.Length-s.at)]
		}
		m, err := s.f.WriteAt(part, s.at)
		n, s.at, p = n+m, s.at+int64(m), p[m:]
		s.report(m)
		if err != nil {
			return n, err
		}
		if s.e.Sparse && s.at == s.e.Segments[s.i].Offset+s.e.Segments[s.i].Length {
			s.i++
		}
	}
	return n, nil
}
