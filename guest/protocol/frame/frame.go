// Package frame is the format of a channel between the host and the helper. One ssh connection carries several streams of
// bytes, events, and exactly one result.
//
// The helper first writes an opening: the mark from its arguments, '*', the version of the protocol and ';'. Login
// scripts may have printed something before it. After the opening both sides send frames. A frame is its kind in one
// byte, the length of the payload in four bytes, big endian, and the payload.
//
// The host sends one Request, then Stdin frames, then End. The helper sends Stdout, Stderr, Event and Alive frames in any
// order, and as its last frame a Result, a Failure or an Exit. If the stream ends earlier, the connection was lost
// or the helper was killed.
package frame

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Kind is the type of a frame.
type Kind byte

// The kinds.
const (
	Request Kind = 'q' // from the host: a protocol.Call as JSON
	Stdin   Kind = 'i' // from the host: bytes
	End     Kind = 'n' // from the host: the end of stdin
	Stdout  Kind = 'o' // bytes
	Stderr  Kind = 'e' // bytes
	Event   Kind = 'v' // a protocol.Event as JSON
	Alive   Kind = 'a' // a sign of life
	Result  Kind = 'r' // the result of a verb as JSON
	Failure Kind = 'f' // a protocol.Error as JSON
	Exit    Kind = 'x' // the exit status of a command, one byte
)

// Limits of a payload in bytes.
const (
	MaxBytes = 256 << 10 // of Stdin, Stdout and Stderr
	MaxJSON  = 16 << 20  // of Request, Event, Result and Failure
)

// chunk is the largest payload that Stream sends in one frame.
const chunk = 64 << 10

func (k Kind) limit() (int, error) {
	switch k {
	case Stdin, Stdout, Stderr:
		return MaxBytes, nil
	case Request, Event, Result, Failure:
		return MaxJSON, nil
	case End, Alive:
		return 0, nil
	case Exit:
		return 1, nil
	}
	return 0, fmt.Errorf("unknown kind of frame %q", byte(k))
}

// Opening returns the opening of a helper with a version of the protocol.
func Opening(mark string, version int) string { return mark + "*" + strconv.Itoa(version) + ";" }

// Writer writes frames. It may be used by several goroutines.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer on w. It writes each frame with one call of w.Write.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends one frame.
func (w *Writer) Write(kind Kind, payload []byte) error {
	max, err := kind.limit()
	if err != nil {
		return err
	}
	if len(payload) > max {
		return fmt.Errorf("frame of %d bytes, %d are allowed", len(payload), max)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf[:0], byte(kind))
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(payload)))
	w.buf = append(w.buf, payload...)
	_, err = w.w.Write(w.buf)
	if cap(w.buf) > 2*MaxBytes {
		w.buf = nil
	}
	return err
}

// Stream returns a writer whose bytes are sent in frames of a kind.
func (w *Writer) Stream(kind Kind) io.Writer { return stream{w, kind} }

type stream struct {
	w    *Writer
	kind Kind
}

func (s stream) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), chunk)]
		if err := s.w.Write(s.kind, part); err != nil {
			return n, err
		}
		n += len(part)
		p = p[len(part):]
	}
	return n, nil
}

// ReadFrom sends the bytes of r, one frame for each Read.
func (s stream) ReadFrom(r io.Reader) (n int64, err error) {
	buf := make([]byte, chunk)
	for {
		got, err := r.Read(buf)
		if got > 0 {
			if err := s.w.Write(s.kind, buf[:got]); err != nil {
				return n, err
			}
			n += int64(got)
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// Reader reads frames.
type Reader struct {
	r   *bufio.Reader
	buf []byte
}

// NewReader returns a Reader on r, from which the opening has been read.
func NewReader(r io.Reader) *Reader {
	b, ok := r.(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(r, chunk)
	}
	return &Reader{r: b}
}

// Next returns the next frame. The payload is valid until the next call of Next. The error is io.EOF if the stream
// ends between frames, and io.ErrUnexpectedEOF if it ends within one. A frame of an unknown kind or above its limit is
// an error.
func (r *Reader) Next() (Kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, err
	}
	kind, size := Kind(head[0]), binary.BigEndian.Uint32(head[1:])
	max, err := kind.limit()
	if err != nil {
		return 0, nil, err
	}
	if size > uint32(max) {
		return 0, nil, fmt.Errorf("frame %q of %d bytes, %d are allowed", byte(kind), size, max)
	}
	// Allocate as the bytes arrive, since the length may be wrong.
	r.buf = r.buf[:0]
	for left := int(size); left > 0; {
		n := min(left, chunk)
		at := len(r.buf)
		r.buf = append(r.buf, make([]byte, n)...)
		if _, err := io.ReadFull(r.r, r.buf[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
		left -= n
	}
	return kind, r.buf, nil
}
