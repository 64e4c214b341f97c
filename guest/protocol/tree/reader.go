package tree

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"

	"hermes-box/guest/protocol"
)

// Reader reads a stream. It checks each entry, the place of Data and Sum records, and the checksums.
type Reader struct {
	Header Header
	r      *bufio.Reader
	buf    []byte
	open   *Entry // the entry whose data is being read
	left   int64  // bytes of its data still to read
	data   *xxhash.Digest
	all    *xxhash.Digest
	sum    Summary
	done   bool
}

// NewReader reads the header from r. A stream of another version is an error.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{r: bufio.NewReaderSize(r, MaxData), data: xxhash.New(), all: xxhash.New()}
	kind, payload, err := in.record()
	if err != nil {
		return nil, err
	}
	if kind != kindHeader {
		return nil, fmt.Errorf("the stream begins with a record %q instead of a header", kind)
	}
	if err := protocol.Decode(payload, &in.Header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if in.Header.Version != Version {
		return nil, fmt.Errorf("a stream of version %d; this program reads version %d", in.Header.Version, Version)
	}
	return in, nil
}

// Next returns the next record: an *Entry, Data, Sum, Problem or Summary. Data is valid until the next call, and checked
// only when its Sum comes. The data before a Sum has Entry.Data bytes, or fewer if the Sum is Broken. If the stream
// ends after the Summary, the error is io.EOF; if it ends earlier, the error is io.ErrUnexpectedEOF.
func (r *Reader) Next() (any, error) {
	if r.done {
		_, err := r.r.ReadByte()
		if err == nil {
			err = errors.New("there is data after the summary")
		}
		return nil, err
	}
	before := r.all.Sum64()
	kind, payload, err := r.record()
	if err != nil {
		return nil, err
	}
	if inside := kind == kindData || kind == kindSum; inside != (r.open != nil) {
		return nil, fmt.Errorf("a record %q is not expected here", kind)
	}
	switch kind {
	case kindEntry, kindReused:
		e := &Entry{}
		if err := protocol.Decode(payload, e); err != nil {
			return nil, fmt.Errorf("entry: %w", err)
		}
		e.Reused = kind == kindReused
		if err := e.Check(); err != nil {
			return nil, err
		}
		if e.HasData() {
			r.open, r.left = e, e.Data()
			r.data.Reset()
		} else {
			r.sum.add(e)
		}
		return e, nil
	case kindData:
		if r.left -= int64(len(payload)); r.left < 0 {
			return nil, fmt.Errorf("entry %q has more data than its size says", r.open.Path)
		}
		r.data.Write(payload)
		return Data(payload), nil
	case kindSum:
		var sum checkedSum
		if err := protocol.Decode(payload, &sum); err != nil {
			return nil, fmt.Errorf("sum of %q: %w", r.open.Path, err)
		}
		switch e := r.open; {
		case !sum.Broken && r.left > 0:
			return nil, fmt.Errorf("entry %q has less data than its size says", e.Path)
		case sum.Check != checkOf(r.data.Sum64()):
			return nil, fmt.Errorf("the data of %q is damaged: %w", e.Path, ErrChecksum)
		case !sum.Broken:
			r.sum.add(e)
		}
		r.open = nil
		return sum.Sum, nil
	case kindProblem:
		r.sum.Problems++
		return value[Problem](payload)
	case kindSummary:
		var sum checkedSummary
		if err := protocol.Decode(payload, &sum); err != nil {
			return nil, fmt.Errorf("summary: %w", err)
		}
		if sum.Check != checkOf(before) {
			return nil, fmt.Errorf("the stream is damaged: %w", ErrChecksum)
		}
		if sum.Summary != r.sum {
			return nil, fmt.Errorf("the summary does not match the entries: %w", ErrChecksum)
		}
		r.done = true
		return sum.Summary, nil
	}
	return nil, fmt.Errorf("unknown kind of record %q", kind)
}

// Data is a part of the data of an entry.
type Data []byte

func value[T any](payload []byte) (any, error) {
	var v T
	if err := protocol.Decode(payload, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// record reads one record. Memory is allocated as the bytes arrive, since the length may be wrong.
func (r *Reader) record() (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, cutOff(err)
	}
	kind = head[0]
	size, limit := int64(binary.BigEndian.Uint32(head[1:])), int64(maxRecord)
	if kind == kindData {
		limit = MaxData
	}
	if size > limit {
		return 0, nil, fmt.Errorf("record %q of %d bytes, %d are allowed", kind, size, limit)
	}
	r.buf = r.buf[:0]
	for left := size; left > 0; {
		n := min(left, MaxData)
		at := len(r.buf)
		r.buf = append(r.buf, make([]byte, n)...)
		if _, err := io.ReadFull(r.r, r.buf[at:]); err != nil {
			return 0, nil, cutOff(err)
		}
		left -= n
	}
	if kind != kindData {
		r.all.Write(head[:])
		r.all.Write(r.buf)
	}
	return kind, r.buf, nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
