package ops

import (
	"bytes"
	"context"
	"hermes-box/limactl/ssh"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Attach is the command that hands this terminal to the box: tmux session main. It is not started. The box learns
// the terminal's own description first, where it does not know it yet; where that fails, the box falls back to
// xterm-256color and says so. All of it is one round trip before the one that attaches.
func (b *Box) Attach(ctx context.Context) (*exec.Cmd, error) {
	if err := b.running(ctx); err != nil {
		return nil, err
	}
	return b.Lima.Attach(ctx, b.Record.Instance, teachTerminal(ctx, os.Getenv("TERM")))
}

// knownTerminals are in every guest's own terminfo.
var knownTerminals = []string{"", "dumb", "linux", "vt100", "xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color"}

// teachTerminal is a command that gives the box the description of a terminal, once: ghostty, kitty and their like
// bring one of their own that no distribution has. Where there is nothing to teach it does nothing.
func teachTerminal(ctx context.Context, name string) ssh.Exec {
	nothing := ssh.Exec{Args: []string{"true"}}
	if slices.Contains(knownTerminals, name) {
		return nothing
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	entry, err := exec.CommandContext(ctx, "infocmp", "-x", name).Output()
	if err != nil {
		return nothing
	}
	return ssh.Exec{
		Args:  []string{"sh", "-c", `infocmp "$1" >/dev/null 2>&1 || exec tic -x -`, "sh", name},
		Stdin: bytes.NewReader(entry),
	}
}
