package ssh

import (
	"context"
	"encoding/base64"
	"os/exec"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
)

// Attach prepares an interactive login that gets our terminal: in tmux session main, or in one command. terminfo is the
// source of our terminal's entry, for a box that may not know it; nil where any box does. That the connection works is
// proved first: one that does not is an error here and not a screen that hangs.
//
// The login is not started: the caller sets Stdin, Stdout and Stderr to the terminal. Its exit status is the remote
// side's, or Lost where the connection was lost. No agent and no display is forwarded, and no key is ssh's own.
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
