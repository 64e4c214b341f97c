package backup

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// writer reads a tree and writes the lines of its bundle.
type writer struct {
	s        *storer
	in       *tree.Reader
	lines    *bufio.Writer
	buf      []byte
	previous *Bundle
	progress func(int64)
	done     int64 // bytes of data
	manifest *manifest
	dropped  map[string]bool           // files that could not be read to their end and whose Problem has not been received yet
	seen     map[sha256Digest][3]int32 // refs of the small files of this tree
}

func newWriter(s *storer, in *tree.Reader, lines io.Writer, previous *Bundle, progress func(int64)) *writer {
	return &writer{s: s, in: in, lines: bufio.NewWriterSize(lines, 64<<10), previous: previous, progress: progress,
		manifest: newManifest(), dropped: map[string]bool{}, seen: map[sha256Digest][3]int32{}}

}

// tree reads the whole stream and returns its summary.
func (w *writer) tree() (Summary, error) {
	var counts tree.Summary
	for {
		record, err := w.in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return Summary{}, received("the tree", err)
		}
		switch v := record.(type) {
		case *tree.Entry:
			err = w.entry(v)
		case tree.Problem:
			err = w.problem(v)
		case tree.Summary:
			counts = v
		}
		if err != nil {
			return Summary{}, err
		}
	}
	for path := range w.dropped {
		return Summary{}, fmt.Errorf("the box sent neither a digest of %q nor a problem with it", path)
	}
	for _, raw := range w.manifest.problems {
		if _, err := w.lines.Write(fmt.Appendf(nil, "%s%s}\n", problemHead, raw)); err != nil {
			return Summary{}, err
		}
	}
	sum := w.manifest.summary()
	if sum.Summary != counts {
		return Summary{}, fault.New(fault.IntegrityFailed, "what arrived from the box (%s) is not what the box sent (%s)", sum.Summary, counts).
			Hint("hermes-box backup")
	}
	return sum, w.lines.Flush()
}

// received returns the error for a part of the stream that cannot be read.
func received(what string, err error) error {
	err = fmt.Errorf("read %s from the box: %w", what, err)
	if errors.Is(err, tree.ErrChecksum) {
		return fault.New(fault.IntegrityFailed, "%w", err).Hint("hermes-box backup")
	}
	return err
}

func (w *writer) problem(p tree.Problem) error {
	delete(w.dropped, string(p.Path))
	raw, err := json.Marshal(p)
	if err == nil {
		w.manifest.addProblem(raw)
	}
	return err
}

func (w *writer) entry(e *tree.Entry) (err error) {
	var refs []ref
	var raw []byte
	switch {
	case e.HasData():
		var dropped bool
		if refs, dropped, err = w.file(e); dropped {
			w.dropped[string(e.Path)] = true
			return err
		}
	case e.Type == tree.File && e.Link == nil:
		refs, raw, err = w.reuse(e)
	}
	switch {
	case err != nil:
	case raw == nil:
		raw, err = w.manifest.addEntry(e)
	default:
		w.manifest.add(raw, e.Data())
	}
	if err != nil {
		return err
	}
	w.buf = appendLine(w.buf[:0], raw, refs)
	w.report(0)
	_, err = w.lines.Write(w.buf)
	return err
}

// report adds n to the bytes done and reports the progress.
func (w *writer) report(n int) {
	w.done += int64(n)
	if w.progress != nil {
		w.progress(w.done)
	}
}
