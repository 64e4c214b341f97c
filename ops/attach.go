package ops

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Attach is the command that hands this terminal to the box: tmux session main. It is not started. The box learns the
// terminal's own description, where it does not know it yet; where that fails, it falls back to xterm-256color and says so.
func (b *Box) Attach(ctx context.Context) (*exec.Cmd, error) {
	if err := b.reachable(ctx); err != nil {
		return nil, err
	}
	c, err := b.Lima.Attach(ctx, b.Record.Instance, terminfo(ctx, os.Getenv("TERM")))
	return c, b.unreached(ctx, err)
}

// knownTerminals are in every guest's own terminfo.
var knownTerminals = []string{"", "dumb", "linux", "vt100", "xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color"}

// terminfo returns the source of a terminal's entry for the box; nil where the box knows it, or we do not. Ghostty, kitty
// and their like bring an entry of their own that no distribution has.
func terminfo(ctx context.Context, name string) []byte {
	if slices.Contains(knownTerminals, name) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	entry, err := exec.CommandContext(ctx, "infocmp", "-x", name).Output()
	if err != nil {
		return nil
	}
	return entry
}
