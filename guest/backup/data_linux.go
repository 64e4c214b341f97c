package backup

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"hermes-box/guest/protocol/tree"
)

// data sends a regular file; if the file is unchanged, only its entry. sent is false if the file could not be read. The
// error is one of the stream or the context, not of the file.
func (k *walk) data(fd int, e *tree.Entry, st unix.Stat_t) (sent bool, err error) {
	if old, ok := k.Known.unchanged(e); ok {
		e.Digest, e.Segments, e.Sparse, e.Reused = old.Digest, old.Segments, old.Sparse, true
		return true, k.w.Entry(e)
	}
	if st.Blocks*512 < st.Size {
		if e.Segments, err = segments(fd, st.Size); err != nil {
			return false, k.problem(e.Path, "holes: "+err.Error())
		}
		e.Sparse = true
	}
	if err := k.w.Entry(e); err != nil {
		return false, err
	}
	parts := e.Segments
	if !e.Sparse && e.Size > 0 {
		parts = []tree.Segment{{Length: e.Size}}
	}
	for _, s := range parts {
		if err := k.copy(fd, s); err != nil {
			var broken *readError
			if !errors.As(err, &broken) {
				return false, err
			}
			return false, errors.Join(k.w.Drop(), k.problem(e.Path, broken.Error()))
		}
	}
	return true, k.w.EndFile()
}

// readError is an error of the file, and not of the stream.
type readError struct{ err error }

func (e *readError) Error() string { return "read: " + e.err.Error() }

// copy sends a part of a file.
func (k *walk) copy(fd int, s tree.Segment) error {
	for s.Length > 0 {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Pread(fd, k.buf[:min(s.Length, int64(len(k.buf)))], s.Offset)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = errors.New("it became shorter while the backup was made")
		}
		if err != nil {
			return &readError{err}
		}
		if _, err := k.w.Write(k.buf[:n]); err != nil {
			return err
		}
		s.Offset += int64(n)
		s.Length -= int64(n)
	}
	return nil
}

// segments returns the parts of a file that are not holes.
func segments(fd int, size int64) (all []tree.Segment, err error) {
	for at := int64(0); at < size; {
		from, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // no data from here on
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("seek: %w", err)
		}
		to, err := unix.Seek(fd, from, unix.SEEK_HOLE)
		if err != nil {
			return nil, fmt.Errorf("seek: %w", err)
		}
		if from, to = min(from, size), min(to, size); to > from {
			all = append(all, tree.Segment{Offset: from, Length: to - from})
		}
		at = to
	}
	return all, nil
}
