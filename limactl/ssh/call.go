package ssh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/frame"
	"hermes-box/internal/sanitize"
)

// Call is one verb of the helper in a box.
type Call struct {
	Verb    string
	Request any                  // sent as JSON; nil for none
	Root    bool                 // run as root, through sudo
	Stdin   io.Reader            // bytes for the verb; may be nil
	Stdout  io.Writer            // bytes from the verb; may be nil
	Event   func(protocol.Event) // called for each event, one at a time; may be nil
}

// HelperError is the error for a box whose helper cannot answer: it does not exist, cannot be run, or is of another
// version.
type HelperError struct {
	Version int    // of its protocol; 0: there is no helper, or it is too old to send its version
	Status  int    // exit status, if Version is 0
	Message string // the output in place of an answer
}

func (e *HelperError) Error() string {
	if e.Version != 0 {
		return fmt.Sprintf("the helper in the box is of another version: it speaks protocol %d, this program speaks protocol %d", e.Version, protocol.Version)
	}
	message := "the box has no helper, or one of an older version"
	if last := lastLine(e.Message); last != "" {
		message += ": " + last
	}
	return message
}

// Call runs a verb of the helper. The service of the box answers an unprivileged verb. For other verbs, and without
// the service, the helper is started in the box. The result is decoded into result, a pointer that may be nil. Texts
// in events, errors and results are safe to show; the bytes of Stdout are not.
//
// A failure of the verb is a *protocol.Error. A helper that cannot answer is a *HelperError, and has done nothing. A
// connection that fails is a *TransportError.
func (c *Client) Call(ctx context.Context, instance string, call Call, result any) error {
	data, err := encode(call.Verb, call.Request)
	if err != nil {
		return err
	}
	var early []byte // sent without waiting for the opening, which saves a round trip
	if slices.Contains(protocol.Unprivileged, call.Verb) {
		early = data
		err := c.askService(ctx, instance, call, result)
		var answer *protocol.Error
		if err == nil || errors.As(err, &answer) || ctx.Err() != nil {
			return err
		}
	}
	k, err := c.connect(ctx, instance, "helper "+call.Verb, func(mark string) string {
		text := shellescape.Quote(c.Helper) + " " + protocol.Channel + " " + shellescape.Quote(mark)
		if call.Root {
			text = "sudo -n " + text
		}
		return "exec " + text
	}, early, nil)
	var lost *TransportError
	if errors.As(err, &lost) && !lost.Started && lost.status != Lost && lost.status >= 0 {
		return &HelperError{Status: lost.status, Message: lost.Message}
	}
	if err != nil {
		return err
	}
	if len(early) > 0 {
		data = nil
	}
	return k.answer(data, call, result)
}

// answer sends data, the frame of a call, unless it is empty because it was sent early. It decodes the result.
func (k *conn) answer(data []byte, call Call, result any) error {
	if k.version != protocol.Version {
		k.abort()
		return &HelperError{Version: k.version}
	}
	data, err := k.ask(data, streams{call.Stdin, call.Stdout, nil}, call.Event)
	if err != nil || result == nil {
		return err
	}
	if err := protocol.Decode(data, result); err != nil {
		return fmt.Errorf("the answer of the box to %q: %w", call.Verb, err)
	}
	sanitize.Value(result)
	return nil
}

// streams are the streams of bytes of a call. Each may be nil.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// encode returns the frame of a call.
func encode(verb string, request any) ([]byte, error) {
	call := protocol.Call{Verb: verb}
	if request != nil {
		data, err := json.Marshal(request)
		if err != nil {
			return nil, err
		}
		call.Request = data
	}
	data, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	var wire bytes.Buffer
	err = frame.NewWriter(&wire).Write(frame.Request, data)
	return wire.Bytes(), err
}

// ask sends the frame of a call, unless it is empty because it was sent early, and reads frames up to the last one. It returns
// the result of a verb, or nil for a command that ended with status 0. It closes the connection.
func (k *conn) ask(call []byte, s streams, event func(protocol.Event)) (result []byte, err error) {
	if len(call) > 0 { // after an early request, the answer may be complete and the connection closed by now
		if _, err := k.stdin.Write(call); err != nil {
			k.cancel(errClosed)
			k.stdin.Close()
			return nil, k.failed(false, "")
		}
	}
	w := frame.NewWriter(k.stdin)
	go func() { // an error means that the helper does not read any more
		if s.in != nil {
			_, _ = io.Copy(w.Stream(frame.Stdin), s.in)
		}
		_ = w.Write(frame.End, nil)
	}()
	result, err = readAnswer(frame.NewReader(k.out), s, event)
	var write *outputError
	var broken *frameError
	switch {
	case errors.As(err, &write):
		k.abort()
		return nil, err
	case errors.As(err, &broken):
		defer k.release()
		return nil, k.cutOff(broken.err)
	}
	status := 0
	if exit := new(ExitError); errors.As(err, &exit) {
		status = exit.Status
	}
	k.leave(status, err)
	return result, err
}

// readAnswer reads frames up to the last one. The error is a *frameError if the frames end early or are invalid, and
// an *outputError if a writer of s fails.
func readAnswer(r *frame.Reader, s streams, event func(protocol.Event)) (result []byte, err error) {
	for {
		kind, payload, err := r.Next()
		if err != nil {
			return nil, &frameError{err}
		}
		switch kind {
		case frame.Alive:
		case frame.Stdout, frame.Stderr:
			to := s.out
			if kind == frame.Stderr {
				to = s.err
			}
			if to == nil {
				continue
			}
			if _, err := to.Write(payload); err != nil {
				return nil, &outputError{err}
			}
		case frame.Event:
			var e protocol.Event
			if err := protocol.Decode(payload, &e); err != nil {
				return nil, &frameError{err}
			}
			if event != nil {
				sanitize.Value(&e)
				event(e)
			}
		case frame.Result:
			return bytes.Clone(payload), nil
		case frame.Failure:
			var e protocol.Error
			if err := protocol.Decode(payload, &e); err != nil {
				return nil, &frameError{err}
			}
			sanitize.Value(&e)
			return nil, &e
		case frame.Exit:
			if len(payload) == 1 && payload[0] == 0 {
				return nil, nil
			}
			if len(payload) == 1 {
				return nil, &ExitError{Status: int(payload[0])}
			}
			return nil, &frameError{errors.New("an exit frame without a status")}
		default:
			return nil, &frameError{fmt.Errorf("a frame %q is not expected", byte(kind))}
		}
	}
}

// outputError is an error of a writer of the caller.
type outputError struct{ err error }

func (e *outputError) Error() string { return "output of the command: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// frameError is the error for an answer that ends early or is invalid.
type frameError struct{ err error }

func (e *frameError) Error() string { return "the answer of the box cannot be read: " + e.err.Error() }
func (e *frameError) Unwrap() error { return e.err }

// cutOff ends a connection whose frames ended early or are invalid, and returns the error to report.
func (k *conn) cutOff(err error) error {
	broken := !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && k.ctx.Err() == nil
	k.stdin.Close()
	if broken {
		k.cancel(errClosed)
	}
	failed := k.failed(true, "")
	var lost *TransportError
	if broken && errors.As(failed, &lost) {
		lost.Message, lost.Err = "", &frameError{err}
	}
	return failed
}
