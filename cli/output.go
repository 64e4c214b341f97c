package cli

import (
	"io"
	"sync"

	"hermes-box/tui/widget"
)

// output is stdout or stderr for the text of this program. It remembers the first error of a write, since not every caller
// checks it, and rewrites text in ASCII if asked to.
type output struct {
	io.Writer
	ascii bool // text is rewritten in ASCII

	mu      sync.Mutex
	written int64
	err     error
}

func (o *output) Write(p []byte) (int, error) {
	text := p
	if o.ascii {
		text = []byte(widget.ToASCII(string(p)))
	}
	n, err := o.Writer.Write(text)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written += int64(n)
	if err != nil {
		if o.err == nil {
			o.err = err
		}
		return 0, err
	}
	return len(p), nil
}

// failed returns the first error of a write.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Fd returns the file descriptor of the writer, for terminal settings; an invalid one if it is not a file.
func (o *output) Fd() uintptr {
	if f, ok := o.Writer.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
