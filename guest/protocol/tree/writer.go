package tree

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// The kinds of records.
const (
	kindHeader  = 'h'
	kindEntry   = 'e'
	kindReused  = 'r' // an Entry without data, because it is Reused
	kindData    = 'd'
	kindSum     = 's'
	kindProblem = 'p'
	kindSummary = 'z'
)

// Limits of a payload in bytes. An entry may hold 64 KiB for each of its extended attributes, in base64.
const (
	MaxData   = 256 << 10
	maxRecord = 16 << 20
)

// Payloads of records that have a checksum.
type (
	checkedSum struct {
		Sum
		Check check `json:"check"` // of the data
	}
	checkedSummary struct {
		Summary
		Check check `json:"check"` // of all records before, without Data
	}
)

// check is an XXH64 in hex.
type check string

func checkOf(sum uint64) check { return check(fmt.Sprintf("%016x", sum)) }

// ErrChecksum is wrapped by the error for a Sum or a Summary that does not match the records before it.
var ErrChecksum = errors.New("wrong checksum")

// Writer writes a stream. Its methods are called in the order of the records. It is buffered: call Flush to write what it
// holds.
type Writer struct {
	w    *bufio.Writer
	open *Entry         // the entry whose data is being written
	data *xxhash.Digest // of that data
	all  *xxhash.Digest // of all records, without Data
	sum  Summary
}

// NewWriter writes a header to w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out := &Writer{w: bufio.NewWriterSize(w, MaxData+5), data: xxhash.New(), all: xxhash.New()}
	return out, out.object(kindHeader, h)
}

// Entry writes an entry. If it has data, Write and then EndFile or Drop must follow.
func (w *Writer) Entry(e *Entry) error {
	if e.HasData() {
		w.open = e
		w.data.Reset()
	} else {
		w.sum.add(e)
	}
	if e.Reused {
		return w.object(kindReused, e)
	}
	return w.object(kindEntry, e)
}

// Write writes data of the last entry.
func (w *Writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), MaxData)]
		w.data.Write(part)
		if err := w.record(kindData, part); err != nil {
			return n, err
		}
		n += len(part)
		p = p[len(part):]
	}
	return n, nil
}

// EndFile ends the data of an entry.
func (w *Writer) EndFile() error {
	if w.open != nil {
		w.sum.add(w.open)
	}
	w.open = nil
	return w.object(kindSum, checkedSum{Check: checkOf(w.data.Sum64())})
}

// Drop ends the data of an entry that could not be read to its end. A Problem must follow.
func (w *Writer) Drop() error {
	w.open = nil
	return w.object(kindSum, checkedSum{Sum{Broken: true}, checkOf(w.data.Sum64())})
}

// Problem writes a problem.
func (w *Writer) Problem(p Problem) error {
	w.sum.Problems++
	return w.object(kindProblem, p)
}

// End writes the summary, flushes, and returns it.
func (w *Writer) End() (Summary, error) {
	return w.sum, errors.Join(w.object(kindSummary, checkedSummary{w.sum, checkOf(w.all.Sum64())}), w.Flush())
}

// Flush writes the buffered bytes.
func (w *Writer) Flush() error { return w.w.Flush() }

func (w *Writer) object(kind byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.record(kind, data)
}

func (w *Writer) record(kind byte, payload []byte) error {
	if len(payload) > maxRecord {
		return fmt.Errorf("record of %d bytes, %d are allowed", len(payload), maxRecord)
	}
	var head [5]byte
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(payload)))
	if kind != kindData {
		w.all.Write(head[:])
		w.all.Write(payload)
	}
	if _, err := w.w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.w.Write(payload)
	return err
}
