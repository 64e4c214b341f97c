package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/frame"
	"hermes-box/guest/run"
)

// heartbeat is the time between two signs of life.
const heartbeat = 5 * time.Second

// channel answers one Call over frames. The host keeps stdin open until it has read the last frame. If stdin ends
// earlier, the host is gone.
func (h Helper) channel(ctx context.Context, mark string, stdin io.Reader, stdout, stderr io.Writer) int {
	if _, err := io.WriteString(stdout, frame.Opening(mark, protocol.Version)); err != nil {
		return 1
	}
	w, r := frame.NewWriter(stdout), frame.NewReader(stdin)
	ask, ok := request(r, frames{w})
	if !ok {
		return 1
	}
	ctx, hungUp := context.WithCancel(ctx)
	defer hungUp()
	in, feed := io.Pipe()
	defer in.Close()
	go func() {
		feed.CloseWithError(receive(r, feed))
		hungUp()
	}()
	go beat(ctx, w, hungUp)

	if ask.Verb == protocol.VerbExec && h.service {
		_ = frames{w}.failure(invalid(errors.New("the service does not run commands")))
		return 1
	}
	if ask.Verb == protocol.VerbExec {
		return h.exec(ctx, ask.Request, in, w)
	}
	v, ok := verbs[ask.Verb]
	if !ok {
		_ = frames{w}.failure(invalid(fmt.Errorf("there is no verb %q", ask.Verb)))
		return 1
	}
	return h.do(ctx, ask.Verb, v, input{request: bytes.NewReader(ask.Request), stdin: in, stdout: w.Stream(frame.Stdout)}, frames{w}, stderr)
}

// request reads the first frame. ok is false if there is none, or if it is not a valid request.
func request(r *frame.Reader, a answer) (ask protocol.Call, ok bool) {
	kind, payload, err := r.Next()
	if err != nil {
		return ask, false
	}
	if kind != frame.Request {
		err = fmt.Errorf("the first frame is %q instead of a request", byte(kind))
	} else {
		err = protocol.Decode(payload, &ask)
	}
	if err != nil {
		_ = a.failure(invalid(err))
	}
	return ask, err == nil
}

// receive writes the bytes of the Stdin frames to feed, and closes feed at the End frame. Then it continues to read. It
// returns when the host has gone or has sent a frame of another kind.
func receive(r *frame.Reader, feed *io.PipeWriter) error {
	for {
		kind, payload, err := r.Next()
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		switch kind {
		case frame.Stdin:
			_, _ = feed.Write(payload) // an error means that the verb does not read any more
		case frame.End:
			feed.Close()
		default:
			return fmt.Errorf("a frame %q is not expected", byte(kind))
		}
	}
}

// beat sends signs of life until ctx ends. If one cannot be sent, the host is gone.
func beat(ctx context.Context, w *frame.Writer, gone func()) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.Write(frame.Alive, nil) != nil {
				gone()
				return
			}
		}
	}
}

// exec runs a command and sends its exit status.
func (h Helper) exec(ctx context.Context, request []byte, stdin io.Reader, w *frame.Writer) int {
	var c protocol.Command
	if err := protocol.Decode(request, &c); err != nil {
		_ = frames{w}.failure(invalid(err))
		return 1
	}
	if h.Command != nil {
		h.Command(&c)
	}
	status := run.Command(ctx, c, stdin, w.Stream(frame.Stdout), w.Stream(frame.Stderr))
	if ctx.Err() != nil || w.Write(frame.Exit, []byte{byte(status)}) != nil {
		return 1
	}
	return 0
}
