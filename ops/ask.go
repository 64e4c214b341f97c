package ops

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"hermes-box/guest/protocol"
	"hermes-box/internal/sanitize"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
)

// ask runs one verb of the helper in the box: request (nil for none) as JSON on its stdin, its events to on, its
// result into result. Verbs that change the guest run as root.
func (b *Box) ask(ctx context.Context, verb string, request, result any, on func(protocol.Event)) error {
	var stdin io.Reader
	if request != nil {
		data, err := json.Marshal(request)
		if err != nil {
			return err
		}
		stdin = bytes.NewReader(data)
	}
	return b.askStream(ctx, verb, stdin, result, on)
}

// askStream is ask with a stdin of any kind.
func (b *Box) askStream(ctx context.Context, verb string, stdin io.Reader, result any, on func(protocol.Event)) error {
	args := []string{protocol.HelperPath, verb}
	if verb != protocol.VerbHello && verb != protocol.VerbStatus {
		args = append([]string{"sudo", "-n"}, args...)
	}
	out, in := io.Pipe()
	answer := make(chan error, 1)
	go func() {
		err := readAnswer(out, result, on)
		io.Copy(io.Discard, out) // never block the writer
		answer <- err
	}()
	var stderr tail
	runErr := b.Lima.Exec(ctx, b.Record.Instance, ssh.Exec{Args: args, Name: helperName(verb), Stdin: stdin, Stdout: in, Stderr: &stderr})
	in.Close()
	err := <-answer
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errNoAnswer) && runErr != nil {
		return noHelper(verb, runErr, stderr.String())
	}
	return err
}

// helperName is what the command log calls a verb of the helper.
func helperName(verb string) string { return "helper " + verb }

var errNoAnswer = errors.New("the helper in the box gave no answer")

func noHelper(verb string, err error, stderr string) error {
	var exit *ssh.ExitError
	if errors.As(err, &exit) && (exit.Status == 127 || exit.Status == 126) {
		return fault.New(fault.HealthFailed, "the box has no helper to answer %q", verb).
			Hint("hermes-box start puts it there")
	}
	if exit != nil && exit.Status == 2 { // it does not know the verb
		return otherVersion(0)
	}
	if said := lastLines(strings.TrimSpace(stderr), 3); said != "" {
		return fault.New(fault.ExternalFailed, "%s in the box: %w: %s", verb, err, said)
	}
	return fault.New(fault.ExternalFailed, "%s in the box: %w", verb, err)
}

// readAnswer reads NDJSON up to the one result or error. What the box says is safe to show from here on.
func readAnswer(r io.Reader, result any, on func(protocol.Event)) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(lines)
		if errors.Is(err, errEndless) {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			if err != nil {
				return errNoAnswer
			}
			continue
		}
		var m protocol.Message
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		cut := err != nil // the connection ended within the line
		if err := dec.Decode(&m); err != nil {
			if cut {
				return errNoAnswer
			}
			return fault.New(fault.ExternalFailed, "the answer of the helper in the box: %w", err).
				Hint("hermes-box start replaces the helper of another version")
		}
		switch {
		case m.Event != nil:
			sanitize.Value(m.Event)
			if on != nil {
				on(*m.Event)
			}
		case m.Error != nil:
			sanitize.Value(m.Error)
			return guestError(m.Error)
		default:
			return readResult(m.Result, result)
		}
	}
}

// readResult decodes a result. One that says that it is of another version, or has fields that this version does not
// know, is refused.
func readResult(data json.RawMessage, result any) error {
	if result == nil {
		return nil
	}
	var of struct{ Protocol int }
	_ = json.Unmarshal(data, &of)
	if of.Protocol != 0 && of.Protocol != protocol.Version {
		return otherVersion(of.Protocol)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(result); err != nil {
		return fault.New(fault.ExternalFailed, "the answer of the helper in the box: %w", err).
			Hint("hermes-box start replaces the helper of another version")
	}
	sanitize.Value(result)
	return nil
}

// maxAnswer is far more than the helper has to say in a line, bytes.
const maxAnswer = 16 << 20

var errEndless = fault.New(fault.ExternalFailed, "the helper in the box says more than %d MiB in one line", maxAnswer>>20).
	Hint("hermes-box doctor")

// readLine is ReadBytes up to a line end, for a line that may have none.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxAnswer {
			return nil, errEndless
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func guestError(e *protocol.Error) error {
	code := fault.ExternalFailed // also for what would be ours to say: a wrong call, an interruption
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
	if strings.HasPrefix(e.Message, where) { // it says so itself
		where = ""
	}
	f := fault.New(code, "%s%s", where, e.Message).Hint("%s", e.Hint)
	if e.Output != "" {
		f.Detail("output", e.Output)
	}
	return f
}

// relay passes the events of the guest on as progress of a step.
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

// String is safe to show.
func (t *tail) String() string { return sanitize.Text(string(t.buf)) }

// guestLog passes a log through as it comes, unparsed.
func (b *Box) guestLog(ctx context.Context, request protocol.LogRequest, out io.Writer) error {
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	var stderr tail
	err = b.Lima.Exec(ctx, b.Record.Instance, ssh.Exec{
		Args: []string{"sudo", "-n", protocol.HelperPath, protocol.VerbLogs}, Name: helperName(protocol.VerbLogs),
		Stdin: bytes.NewReader(data), Stdout: out, Stderr: &stderr,
	})
	if err != nil && ctx.Err() == nil {
		return noHelper(protocol.VerbLogs, err, stderr.String())
	}
	return ctx.Err()
}
