package ops

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"time"

	"hermes-box/limactl"
)

// Attach is the command that hands this terminal to the box: tmux session main. It is not started. The box learns
// the terminal's own description first, where it does not know it yet; where that fails, the box falls back to
// xterm-256color and says so.
func (b *Box) Attach(ctx context.Context) (*exec.Cmd, error) {
	if err := b.running(ctx); err != nil {
		return nil, err
	}
	b.teachTerminal(ctx, os.Getenv("TERM"))
	return b.Lima.Attach(ctx, b.Record.Instance, nil)
}

// knownTerminals are in every guest's own terminfo.
var knownTerminals = []string{"", "dumb", "linux", "vt100", "xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color"}

// teachTerminal sends the description of a terminal into the box, once: ghostty, kitty and their like bring one of
// their own that no distribution has.
func (b *Box) teachTerminal(ctx context.Context, name string) {
	if slices.Contains(knownTerminals, name) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	entry, err := exec.CommandContext(ctx, "infocmp", "-x", name).Output()
	if err != nil {
		return
	}
	_ = b.Lima.Exec(ctx, b.Record.Instance, limactl.Exec{
		Args:  []string{"sh", "-c", `infocmp "$1" >/dev/null 2>&1 || exec tic -x -`, "sh", name},
		Stdin: bytes.NewReader(entry),
	})
}
