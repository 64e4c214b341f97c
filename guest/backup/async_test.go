package backup

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

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
