package limactl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"hermes-box/internal/sanitize"
	"hermes-box/limactl/child"
	"hermes-box/limactl/ssh"
)

// maxOutput limits the output that is read from each stream of limactl, in bytes. limactl never prints nearly as much.
const maxOutput = 8 << 20

// output is the output of a finished limactl.
type output struct {
	stdout []byte
	stderr string
}

// run runs limactl until it exits, at most for limit, and returns its output, even with an error.
func (c *Client) run(ctx context.Context, limit time.Duration, stdin []byte, args ...string) (output, error) {
	return c.runWith(ctx, limit, stdin, nil, nil, args...)
}

// runWith does what run does, with additional environment variables. It calls line, if not nil, with each complete line of stderr.
func (c *Client) runWith(ctx context.Context, limit time.Duration, stdin []byte, env []string, line func(string), args ...string) (output, error) {
	program, err := c.program()
	if err != nil {
		return output{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	stdout, stderr := &bounded{full: stop}, &bounded{full: stop}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(c.env[:len(c.env):len(c.env)], env...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Stdout = stdout
	cmd.Stderr = &lineWriter{w: stderr, line: line}
	child.Detach(cmd)

	begin := time.Now()
	err = cmd.Run()
	if err != nil && ctx.Err() != nil {
		child.Sweep(cmd)
		err = context.Cause(ctx)
	}
	out := output{stdout: stdout.kept.Bytes(), stderr: stderr.kept.String()}
	c.log(ctx, Command{Args: cmd.Args, Duration: time.Since(begin), Status: cmd.ProcessState.ExitCode(), Stderr: sanitize.LastLines(out.stderr, 20), Err: err})
	if err == nil {
		return out, nil
	}
	if strings.Contains(out.stderr, "must not run as the root user") {
		return out, &Error{Message: "limactl refuses to run as root", Do: "run hermes-box as an ordinary user", Kind: "preflight_failed"}
	}
	err = child.HostError(program, err, out.stderr)
	failed := &CommandError{Args: args, Status: cmd.ProcessState.ExitCode(), Message: complaint(out.stderr), Stderr: sanitize.LastLines(out.stderr, 20), Err: err}
	if cmd.Process != nil && (errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded)) {
		failed.Err = fmt.Errorf("no answer in %v, so pid %d was ended: %w", time.Since(begin).Round(100*time.Millisecond), cmd.Process.Pid, err)
		failed.hint = c.CommandLine(args...)
	}
	return out, failed
}

type unlogged struct{}

// Unlogged returns a context for calls that a display repeats: they are logged only if they fail.
func Unlogged(ctx context.Context) context.Context { return context.WithValue(ctx, unlogged{}, true) }

func (c *Client) log(ctx context.Context, cmd Command) {
	if c.config.Log == nil || cmd.Err == nil && ctx.Value(unlogged{}) != nil {
		return
	}
	c.config.Log(cmd)
}

// logSSH logs a run of ssh.
func (c *Client) logSSH(ctx context.Context, r ssh.Run) {
	c.log(ctx, Command{Args: r.Args, Inside: r.Inside, Duration: time.Since(r.Begin), Status: r.Status, Stderr: r.Stderr, Err: r.Err})
}

// bounded stores up to maxOutput bytes. It calls full when more is written.
type bounded struct {
	kept bytes.Buffer
	full func(error)
}

var errEndless = fmt.Errorf("it printed more than %d MiB", maxOutput>>20)

func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > maxOutput {
		b.full(errEndless)
		return 0, errEndless
	}
	return b.kept.Write(p)
}

// lineWriter copies to w, and calls line with each complete line.
type lineWriter struct {
	mu   sync.Mutex
	w    io.Writer
	line func(string)
	rest []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line != nil {
		l.rest = append(l.rest, p...)
		for {
			i := bytes.IndexByte(l.rest, '\n')
			if i < 0 {
				break
			}
			l.line(string(l.rest[:i]))
			l.rest = l.rest[i+1:]
		}
	}
	return l.w.Write(p)
}
