package backup

import (
	"io"

	"hermes-box/guest/protocol/tree"
)

// asyncBuffers is how many buffers of tree.MaxData bytes an asyncWriter or asyncReader holds at most.
const asyncBuffers = 16

// asyncWriter is a buffered Writer. Another goroutine writes the buffers, so that the next data is read while ssh
// encrypts the data before it.
type asyncWriter struct {
	full   chan []byte // to be written, in order
	free   chan []byte
	failed chan struct{} // closed when a write has failed; err is set before
	done   chan struct{} // closed when the goroutine has ended
	err    error
}

func newAsyncWriter(w io.Writer) *asyncWriter {
	a := &asyncWriter{full: make(chan []byte, asyncBuffers), free: make(chan []byte, asyncBuffers),
		failed: make(chan struct{}), done: make(chan struct{})}
	for range asyncBuffers {
		a.free <- nil // allocated by the first Write that uses it
	}
	go func() {
		defer close(a.done)
		for p := range a.full {
			if a.err == nil {
				if _, a.err = w.Write(p); a.err != nil {
					close(a.failed)
				}
			}
			a.free <- p
		}
	}()
	return a
}

// Write copies p. It may return the error of an earlier write.
func (a *asyncWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		select {
		case <-a.failed:
			return n, a.err
		case buf := <-a.free:
			part := p[:min(len(p), tree.MaxData)]
			a.full <- append(buf[:0], part...)
			n += len(part)
			p = p[len(part):]
		}
	}
	return n, nil
}

// Close waits until everything is written, and returns the first error.
func (a *asyncWriter) Close() error {
	close(a.full)
	<-a.done
	return a.err
}

// asyncReader reads ahead in another goroutine, so that ssh decrypts the next data while the data before it is written.
type asyncReader struct {
	full    chan []byte // read, in order
	free    chan []byte
	stopped chan struct{}
	buf     []byte // the buffer that Read reads from
	rest    []byte // the bytes of buf that were not read yet
	err     error  // set before full is closed
}

func newAsyncReader(r io.Reader) *asyncReader {
	a := &asyncReader{full: make(chan []byte, asyncBuffers), free: make(chan []byte, asyncBuffers), stopped: make(chan struct{})}
	for range asyncBuffers {
		a.free <- nil // allocated when it is used first
	}
	go a.fill(r)
	return a
}

func (a *asyncReader) fill(r io.Reader) {
	defer close(a.full)
	for a.err == nil {
		var buf []byte
		select {
		case <-a.stopped:
			return
		case buf = <-a.free:
		}
		if buf == nil {
			buf = make([]byte, tree.MaxData)
		}
		var n int
		n, a.err = r.Read(buf[:tree.MaxData])
		a.full <- buf[:n]
	}
}

// Read returns the error of the underlying reader after all bytes that were read before it.
func (a *asyncReader) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.buf != nil {
			a.free <- a.buf
			a.buf = nil
		}
		buf, ok := <-a.full
		if !ok {
			return 0, a.err
		}
		a.buf, a.rest = buf, buf
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Stop makes the goroutine end. It does not interrupt a Read, and the goroutine may still fill the free buffers.
func (a *asyncReader) Stop() { close(a.stopped) }
