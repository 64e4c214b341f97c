package ssh

import (
	"context"
	"encoding/base64"
	"os/exec"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
)

// Terminal describes the terminal that is attached.
type Terminal struct {
	Name     string        // TERM
	Terminfo func() []byte // returns its terminfo source, for a guest that lacks it; may be nil, and may return nil
}

// Attach prepares an interactive login on this terminal: tmux session main, or one command. It first checks that the
// connection works, so that a dead connection is an error and not a screen that hangs.
//
// Attach does not start the login: the caller sets Stdin, Stdout and Stderr to the terminal. The exit status is that
// of the remote side, or Lost if the connection was lost. Agent and X11 forwarding are off, and ssh has no escape
// keys.
func (c *Client) Attach(ctx context.Context, instance string, on Terminal, command ...string) (*exec.Cmd, error) {
	text, err := c.session(ctx, instance, on, command)
	if err != nil {
		return nil, err
	}
	program, args, err := c.command(instance)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append(args, "-t", "--", alias(instance), text)...)
	cmd.Env = c.Env
	terminateOnCancel(cmd)
	return cmd, nil
}

// session returns the command that the remote user's shell runs for Attach. The command is tmux itself if the service
// of the box says that tmux can attach directly. Otherwise it runs the helper, if the guest has one. The helper is
// slower, but can start a session and compile a terminfo entry.
func (c *Client) session(ctx context.Context, instance string, on Terminal, command []string) (string, error) {
	if c.Helper != "" && len(command) == 0 {
		var s protocol.Session
		err := c.askService(ctx, instance, Call{Verb: protocol.VerbSession, Request: protocol.SessionRequest{Term: on.Name}}, &s)
		text := "exec " + shellescape.QuoteCommand(s.Attach)
		if err == nil && len(s.Attach) > 0 && s.Attach[0] == "tmux" && len(text) <= maxRemote {
			return text, nil
		}
	}
	if err := c.prove(ctx, instance); err != nil {
		return "", err
	}
	var entry []byte
	if on.Terminfo != nil {
		entry = on.Terminfo()
	}
	flag := "--terminfo=" + base64.StdEncoding.EncodeToString(entry)
	if len(command) == 0 {
		return "if command -v tm >/dev/null 2>&1; then exec tm " + shellescape.Quote(flag) + `; fi; exec "${SHELL:-/bin/sh}" -l`, nil
	}
	text := "exec " + shellescape.QuoteCommand(command)
	if c.Helper != "" {
		helper := shellescape.Quote(c.Helper)
		text = "if [ -x " + helper + " ]; then exec " + helper + " " + shellescape.QuoteCommand(append([]string{protocol.Attach, flag, "--"}, command...)) + "; fi; " + text
	}
	return text, nil
}
