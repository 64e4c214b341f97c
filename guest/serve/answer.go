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
)

// answer writes the messages of one verb: events, then one result or error. A message that cannot be written is dropped: the
// reader is gone, and untilClosed ends the verb.
type answer struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func newAnswer(w io.Writer) *answer {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &answer{enc: enc}
}

func (a *answer) send(m protocol.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.enc.Encode(m)
}

func (a *answer) event(e protocol.Event) { _ = a.send(protocol.Message{Event: &e}) }

func (a *answer) result(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.send(protocol.Message{Result: data})
}

func (a *answer) fail(err error) { _ = a.send(protocol.Message{Error: protocolError(err)}) }

// protocolError converts an error: it gets a code, and the output of the program that failed.
func protocolError(err error) *protocol.Error {
	var e protocol.Error
	var known *protocol.Error
	var exit *machine.ExitError
	switch {
	case errors.As(err, &known):
		e = *known
		e.Message = err.Error() // including what wraps it
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

// untilClosed calls gone when nobody reads out any more, because the ssh connection was closed: sshd sends no signal then.
// Standard input cannot be watched, because the host closes it after the request.
func untilClosed(out *os.File, gone func()) {
	fds := []unix.PollFd{{Fd: int32(out.Fd())}} // with no events requested, poll reports errors and hang-ups
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
