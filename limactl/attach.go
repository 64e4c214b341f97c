package limactl

import (
	"context"
	"os/exec"
	"syscall"

	"al.essio.dev/pkg/shellescape"
)

// Attach prepares an interactive command inside, with a terminal, for handing ours over. It makes sure first that
// the connection works, so that a dead one is an error here and not a screen that hangs. The command is not started:
// the caller sets Stdin, Stdout and Stderr to the terminal. Its exit status is the remote command's, or 255 where the
// connection was lost. No agent and no display is forwarded, and no key is ssh's own.
func (c *Client) Attach(ctx context.Context, instance string, args []string) (*exec.Cmd, error) {
	if err := c.Exec(ctx, instance, Exec{Args: []string{"true"}}); err != nil {
		return nil, err
	}
	program, options, err := c.sshArgs(instance, nil)
	if err != nil {
		return nil, err
	}
	options = append(options, "-t", "--", hostAlias(instance))
	if len(args) > 0 {
		options = append(options, "exec "+shellescape.QuoteCommand(args))
	}
	cmd := exec.CommandContext(ctx, program, options...)
	cmd.Env = c.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that ssh puts the terminal back
	cmd.WaitDelay = grace
	return cmd, nil
}
