package ssh

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"crypto/rand"

	"hermes-box/internal/sanitize"
	"hermes-box/internal/terminal"
	"hermes-box/limactl/child"
)

// execTTY runs a command with a terminal. A terminal has one stream, and its stdin is for keys, so frames cannot be
// used: a script runs the command and prints its status after a mark.
func (c *Client) execTTY(ctx context.Context, instance string, e Exec) error {
	if _, there := c.control(instance); there {
		if err := c.prove(ctx, instance); err != nil {
			return err
		}
	}
	program, args, err := c.command(instance)
	if err != nil {
		return err
	}
	mark := "[hermes-box " + rand.Text() + "]"
	text := e.script(mark, ttyScript)
	if len(text) > maxRemote {
		return tooLong
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, program, append(args, "-tt", "--", alias(instance), text)...)
	cmd.Env = c.Env
	limit := time.AfterFunc(c.connectLimit(), func() { cancel(fmt.Errorf("no answer: %w", errTimeout)) })
	defer limit.Stop()
	out := &markWriter{mark: mark, w: e.Stdout, begun: func() { limit.Stop() }}
	diag := &markWriter{mark: mark, w: e.Stderr}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, out, diag
	terminateOnCancel(cmd)
	restore := terminal.Prepare(cmd, e.Stdout)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return child.HostError(program, fmt.Errorf("ssh: %w", err), "")
	}
	err = cmd.Wait()
	out.flush()
	diag.flush()
	c.log(ctx, Run{Inside: e.name(), Args: cmd.Args, Begin: begin, Status: cmd.ProcessState.ExitCode(), Stderr: diag.early(), Err: err})
	status, reported := out.status()
	restore(!reported && out.started())
	switch {
	case reported && status == 0:
		return out.failed()
	case reported:
		return &ExitError{Status: status}
	case errors.Is(context.Cause(ctx), errTimeout):
		err = context.Cause(ctx)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if out.started() {
		// ssh has printed the reason to Stderr. Its earlier messages have other causes.
		return &TransportError{Instance: instance, Started: true, Err: err}
	}
	return &TransportError{Instance: instance, Message: sanitize.LastLines(diag.early(), 5), Err: err}
}

// terminateOnCancel makes cmd, an ssh that uses the terminal, get SIGTERM when its context ends, so that it restores
// the terminal.
func terminateOnCancel(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = child.Grace
}
