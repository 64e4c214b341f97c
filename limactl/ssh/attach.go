package ssh

import (
	"context"
	"errors"
	"hermes-box/limactl/child"
	"os/exec"
	"syscall"

	"al.essio.dev/pkg/shellescape"
)

// Attach prepares an interactive login, with a terminal, for handing ours over; or one command in place of the login's
// shell. What first says is run before it, in one round trip that also proves that the connection works: a dead one is
// an error here and not a screen that hangs. The status of first does not matter. The login is not started: the caller
// sets Stdin, Stdout and Stderr to the terminal. Its exit status is the remote side's, or 255 where the connection was
// lost. No agent and no display is forwarded, and no key is ssh's own.
func (c *Client) Attach(ctx context.Context, instance string, first Exec, command ...string) (*exec.Cmd, error) {
	var exit *ExitError
	if err := c.Exec(ctx, instance, first); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	program, options, err := c.command(instance)
	if err != nil {
		return nil, err
	}
	options = append(options, "-t", "--", alias(instance))
	if len(command) > 0 {
		options = append(options, "exec "+shellescape.QuoteCommand(command))
	}
	cmd := exec.CommandContext(ctx, program, options...)
	cmd.Env = c.Env
	politely(cmd)
	return cmd, nil
}

// politely asks an ssh that has our terminal to end when its context does, so that it puts the terminal back.
func politely(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = child.Grace
}
