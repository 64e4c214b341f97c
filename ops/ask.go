package ops

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"hermes-box/guest/protocol"
	"hermes-box/internal/sanitize"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
)

// ask runs one verb of the helper in the box. The request may be nil. Events go to on, and the result is decoded into
// result. Verbs that are not in protocol.Unprivileged run as root.
func (b *Box) ask(ctx context.Context, verb string, request, result any, on func(protocol.Event)) error {
	return b.call(ctx, ssh.Call{Verb: verb, Request: request, Event: on}, result)
}

// askStream is ask with stdin for the verb instead of a request.
func (b *Box) askStream(ctx context.Context, verb string, stdin io.Reader, result any, on func(protocol.Event)) error {
	return b.call(ctx, ssh.Call{Verb: verb, Stdin: stdin, Event: on}, result)
}

// guestLog copies a log of the guest to out.
func (b *Box) guestLog(ctx context.Context, request protocol.LogRequest, out io.Writer) error {
	return b.unreached(ctx, b.call(ctx, ssh.Call{Verb: protocol.VerbLogs, Request: request, Stdout: out}, nil))
}

// call runs a verb. An error of the helper becomes one with a code and a hint.
func (b *Box) call(ctx context.Context, call ssh.Call, result any) error {
	call.Root = !slices.Contains(protocol.Unprivileged, call.Verb)
	err := b.Lima.Call(ctx, b.Record.Instance, call, result)
	var failure *protocol.Error
	var helper *ssh.HelperError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &failure):
		return guestError(failure)
	case errors.As(err, &helper):
		return helperError(call.Verb, helper)
	}
	return fault.New(fault.ExternalFailed, "%s in the box: %w", call.Verb, err)
}

// helperError returns the error for a helper that did not run the verb.
func helperError(verb string, err *ssh.HelperError) error {
	switch {
	case err.Version != 0 || err.Status == 2: // an older helper does not know the call
		return otherVersion(err.Version)
	case err.Status == 126 || err.Status == 127:
		return fault.New(fault.HealthFailed, "the helper is missing in the box, so %q cannot be run", verb).
			Hint("to put it there: hermes-box start")
	}
	return fault.New(fault.ExternalFailed, "%s in the box: %w", verb, err)
}

func guestError(e *protocol.Error) error {
	// The user did not cause a wrong call or an interruption in the guest, so their codes become external_failed.
	code := fault.ExternalFailed
	switch c := fault.Code(e.Code); c {
	case fault.IntegrityFailed, fault.HealthFailed, fault.PreflightFailed, fault.Busy:
		code = c
	}
	where := ""
	if e.Component != "" {
		where = e.Component + ": "
		if e.Phase != "" {
			where = e.Component + ": " + e.Phase + ": "
		}
	}
	if strings.HasPrefix(e.Message, where) { // the message already names the component and the phase
		where = ""
	}
	f := fault.New(code, "%s%w", where, e).Hint("%s", e.Hint)
	if e.Output != "" {
		f.Detail("output", e.Output)
	}
	return f
}

// relay returns a function that reports the events of the guest as progress of a step.
func relay(p *Progress) func(protocol.Event) {
	return func(e protocol.Event) {
		switch {
		case e.Total > 0:
			p.Bytes(e.Done, e.Total)
		case e.Phase != "":
			p.Phase(e.Component, e.Phase, e.State)
		}
		if e.Line != "" {
			p.Log(e.Line)
		}
	}
}

// tail keeps the last 16 KiB written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - 16<<10; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

// String returns the bytes without escape sequences and control characters.
func (t *tail) String() string { return sanitize.Text(string(t.buf)) }
