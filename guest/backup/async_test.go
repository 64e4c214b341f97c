package backup

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"hermes-box/guest/protocol/tree"
)

// Everything arrives in order, whatever the sizes of the writes.
func TestAsyncWriter(t *testing.T) {
	var want, got bytes.Buffer
	a := newAsyncWriter(&got)
	r := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, 5, tree.MaxData, tree.MaxData + 1, 40 * tree.MaxData, 3} {
		part := make([]byte, size)
		_, _ = r.Read(part)
		want.Write(part)
		if n, err := a.Write(part); n != size || err != nil {
			t.Fatalf("a write of %d bytes: %d, %v", size, n, err)
		}
		clear(part) // the writer has a copy
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes arrived, which differ from the %d written", got.Len(), want.Len())
	}
}

// A later Write and Close return the error of the underlying writer, and no call waits for a writer that fails.
func TestAsyncWriterFails(t *testing.T) {
	broken := errors.New("broken")
	r, w := io.Pipe()
	r.CloseWithError(broken)
	a := newAsyncWriter(w)
	var err error
	for range 10 * asyncBuffers {
		if _, err = a.Write(make([]byte, tree.MaxData)); err != nil {
			break
		}
	}
	if !errors.Is(err, broken) {
		t.Errorf("Write: %v", err)
	}
	if err := a.Close(); !errors.Is(err, broken) {
		t.Errorf("Close: %v", err)
	}
}

// All bytes arrive in order before the error of the underlying reader, whatever the sizes of its reads.
func TestAsyncReader(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{0, 1, tree.MaxData, 40*tree.MaxData + 1} {
		want := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{2}).Read(want)
		for name, r := range map[string]io.Reader{
			"whole":    bytes.NewReader(want),
			"halves":   iotest.HalfReader(bytes.NewReader(want)),
			"with EOF": iotest.DataErrReader(bytes.NewReader(want)),
		} {
			a := newAsyncReader(io.MultiReader(r, iotest.ErrReader(broken)))
			got, err := io.ReadAll(a)
			if !errors.Is(err, broken) || !bytes.Equal(got, want) {
				t.Errorf("%s, %d bytes: got %d bytes, %v", name, size, len(got), err)
			}
			a.Stop()
		}
	}
}

// After Stop the goroutine ends, although its reader has more and nobody reads what it has filled.
func TestAsyncReaderStops(t *testing.T) {
	a := newAsyncReader(endless{})
	a.Stop()
	for range a.full { // closed when the goroutine has ended
	}
}

// endless is a reader of zeros without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
