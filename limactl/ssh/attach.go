package ssh

import (
	"context"
	"encoding/base64"
	"os/exec"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
)

// Attach prepares an interactive login on our terminal: tmux session main, or one command. terminfo is the source of
// our terminal's entry, for a guest that may not know the terminal; it may be nil. Attach first checks that the
// connection works, so that a dead one is an error and not a screen that hangs.
//
// Attach does not start the login: the caller sets Stdin, Stdout and Stderr to the terminal. The exit status is that
// of the remote side, or Lost if the connection was lost. No agent and no display is forwarded, and ssh has no escape
// keys.
func (c *Client) Attach(ctx context.Context, instance string, terminfo []byte, command ...string) (*exec.Cmd, error) {
	if err := c.prove(ctx, instance); err != nil {
		return nil, err
	}
	program, args, err := c.command(instance)
	if err != nil {
		return nil, err
	}
	entry := "--terminfo=" + base64.StdEncoding.EncodeToString(terminfo)
	text := "if command -v tm >/dev/null 2>&1; then exec tm " + shellescape.Quote(entry) + `; fi; exec "${SHELL:-/bin/sh}" -l`
	if len(command) > 0 {
		text = "exec " + shellescape.QuoteCommand(command)
		if c.Helper != "" {
			helper := shellescape.Quote(c.Helper)
			text = "if [ -x " + helper + " ]; then exec " + helper + " " + shellescape.QuoteCommand(append([]string{protocol.Attach, entry, "--"}, command...)) + "; fi; " + text
		}
	}
	cmd := exec.CommandContext(ctx, program, append(args, "-t", "--", alias(instance), text)...)
	cmd.Env = c.Env
	politely(cmd)
	return cmd, nil
}
