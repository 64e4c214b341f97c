package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/frame"
)

// answer sends the output of a verb: events as they come, then one result or error. An event that cannot be sent is
// dropped: the reader has gone, which ends the verb.
type answer interface {
	event(protocol.Event)
	result(v any) error // v is nil if the verb has written its answer to stdout
	failure(*protocol.Error) error
}

// lines answers in lines of JSON, for a verb that is run by hand.
type lines struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func newLines(w io.Writer) *lines {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &lines{enc: enc}
}

func (l *lines) send(m protocol.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enc.Encode(m)
}

func (l *lines) event(e protocol.Event) { _ = l.send(protocol.Message{Event: &e}) }

func (l *lines) result(v any) error {
	if v == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.send(protocol.Message{Result: data})
}

func (l *lines) failure(e *protocol.Error) error { return l.send(protocol.Message{Error: e}) }

// frames answers over a channel.
type frames struct{ w *frame.Writer }

func (f frames) event(e protocol.Event) { _ = f.send(frame.Event, e) }

func (f frames) result(v any) error { return f.send(frame.Result, v) }

func (f frames) failure(e *protocol.Error) error { return f.send(frame.Failure, e) }

func (f frames) send(kind frame.Kind, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.w.Write(kind, data)
}

// protocolError converts an error for the host. An error without a code gets one. If a program failed, its output is
// added.
func protocolError(err error) *protocol.Error {
	var e protocol.Error
	var known *protocol.Error
	var exit *machine.ExitError
	switch {
	case errors.As(err, &known):
		e = *known
		e.Message = err.Error() // includes the text of the errors that wrap it
	case errors.Is(err, context.Canceled):
		e = protocol.Error{Code: "interrupted", Message: "interrupted"}
	default:
		e = protocol.Error{Code: "external_failed", Message: err.Error()}
	}
	if e.Output == "" && errors.As(err, &exit) {
		e.Output = exit.Output
	}
	return &e
}

// untilClosed calls gone when the reader of out has gone, for example because the ssh connection was closed. sshd sends
// no signal then.
func untilClosed(out *os.File, gone func()) {
	fds := []unix.PollFd{{Fd: int32(out.Fd())}} // with no event asked for, only errors and hang-ups are reported
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			gone()
		}
		return
	}
}
