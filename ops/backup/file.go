package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/restic/chunker"

	"hermes-box/guest/protocol/tree"
)

// file stores the data of an entry, checks its digest, and returns where the data is. A file is dropped if the guest
// could not read it to its end.
func (w *writer) file(e *tree.Entry) (refs []ref, dropped bool, err error) {
	data := &fileReader{w: w, path: e.Path, sum: sha256.New()}
	given := e.Digest // the stream of an imported backup has it already
	mark, done := w.s.mark(), w.done
	if e.Data() > smallFile {
		refs, err = w.large(data)
	} else {
		refs, err = w.small(data)
	}
	if err != nil {
		return nil, false, err
	}
	if data.broken {
		w.s.forget(mark)
		w.done = done
		return nil, true, nil
	}
	if given != "" && given != data.digest {
		return nil, false, fmt.Errorf("the digest of %q differs from its entry", e.Path)
	}
	e.Digest = data.digest
	return refs, false, nil
}

// large cuts a file at content-defined boundaries: a change moves only the cuts near it.
func (w *writer) large(data *fileReader) (refs []ref, err error) {
	cuts := w.s.cuts
	cuts.ResetWithBoundaries(data, w.s.p.secrets.cuts, minChunk, maxChunk)
	cuts.SetAverageBits(meanBits)
	for {
		buf, err := w.s.buffer()
		if err != nil {
			return nil, err
		}
		c, err := cuts.Next(buf)
		if errors.Is(err, io.EOF) {
			w.s.release(buf)
			return refs, nil
		} else if err != nil {
			return nil, err
		}
		number, err := w.s.store(c.Data)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref{number, 0, int64(len(c.Data))})
	}
}

// small adds a file to the pack, unless this tree or the previous one has a file with the same digest.
func (w *writer) small(data *fileReader) ([]ref, error) {
	plain, err := w.s.room(smallFile)
	if err != nil {
		return nil, err
	}
	n, err := readFull(data, plain)
	if err != nil {
		return nil, err
	}
	k, ok := digestKey([]byte(data.digest))
	if n == 0 || !ok || data.broken {
		return nil, nil
	}
	full := sha256Digest(data.sum.Sum(nil))
	if s, ok := w.seen[full]; ok {
		return []ref{{int64(s[0]), int64(s[1]), int64(s[2])}}, nil
	}
	r, ok, err := w.known(k, data.digest, int64(n))
	if err == nil && !ok {
		r = w.s.pack(n)
	}
	w.seen[full] = [3]int32{int32(r[0]), int32(r[1]), int32(r[2])}
	return []ref{r}, err
}

// known looks for a small file with this digest in the previous bundle, and returns where its data is.
func (w *writer) known(k key, digest string, size int64) (r ref, ok bool, err error) {
	if w.previous == nil {
		return r, false, nil
	}
	offset, ok := w.previous.byDigest[k]
	if !ok {
		return r, false, nil
	}
	l, err := w.previous.at(offset)
	if err != nil || string(l.digest) != digest || len(l.refs) != 1 || l.stored() != size || !w.s.present(l.refs) {
		return r, false, err
	}
	refs, err := w.s.reuse(l.refs)
	if err != nil {
		return r, false, err
	}
	return refs[0], true, nil
}

// readFull reads r to its end into buf, which must be large enough.
func readFull(r io.Reader, buf []byte) (n int, err error) {
	for {
		m, err := r.Read(buf[n:])
		n += m
		if errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if n == len(buf) && m == 0 {
			return n, io.ErrShortBuffer
		}
	}
}

// fileReader reads the data of one file from the stream, and computes its digest.
type fileReader struct {
	w      *writer
	path   []byte
	left   []byte // of the last record
	sum    hash.Hash
	digest string
	broken bool // the guest could not read the file to its end
}

func (r *fileReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.digest != "" {
			return 0, io.EOF
		}
		record, err := r.w.in.Next()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, received(fmt.Sprintf("%q", r.path), err)
		}
		switch v := record.(type) {
		case tree.Data:
			r.left = v
			r.sum.Write(v)
			r.w.report(len(v))
		case tree.Sum:
			r.digest, r.broken = hex.EncodeToString(r.sum.Sum(nil)), v.Broken
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// newChunker returns a chunker to be reset for each file.
func newChunker(cuts chunker.Pol) *chunker.Chunker {
	return chunker.NewWithBoundaries(nil, cuts, minChunk, maxChunk)
}
