package ops

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Attach returns the command that attaches this terminal to tmux session main in the box. It is not started. It sends
// the terminal's terminfo entry if the box lacks it. If that fails, the session uses xterm-256color and says so.
func (b *Box) Attach(ctx context.Context) (*exec.Cmd, error) {
	if err := b.reachable(ctx); err != nil {
		return nil, err
	}
	c, err := b.Lima.Attach(ctx, b.Record.Instance, terminfo(ctx, os.Getenv("TERM")))
	return c, b.unreached(ctx, err)
}

// knownTerminals are in the terminfo of every guest.
var knownTerminals = []string{"", "dumb", "linux", "vt100", "xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color"}

// terminfo returns the source of a terminal's entry for the box; nil if the box has it or this machine does not.
// Ghostty, kitty and others bring an entry of their own that distributions lack.
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
