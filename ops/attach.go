package ops

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"time"

	"hermes-box/limactl/ssh"
)

// Attach returns the command that attaches this terminal to tmux session main in the box, without starting it. The
// command sends the terminal's terminfo entry if the box lacks it. If the box cannot use the entry, the session uses
// xterm-256color and prints a note.
func (b *Box) Attach(ctx context.Context) (*exec.Cmd, error) {
	if err := b.reachable(ctx); err != nil {
		return nil, err
	}
	c, err := b.Lima.Attach(ctx, b.Record.Instance, thisTerminal(ctx))
	return c, b.unreached(ctx, err)
}

// thisTerminal returns the terminal of this process.
func thisTerminal(ctx context.Context) ssh.Terminal {
	name := os.Getenv("TERM")
	return ssh.Terminal{Name: name, Terminfo: func() []byte { return terminfo(ctx, name) }}
}

// knownTerminals are in the terminfo of every guest.
var knownTerminals = []string{"", "dumb", "linux", "vt100", "xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color"}

// terminfo returns the source of a terminal's entry for the box; nil if the box has it or this machine does not.
// Ghostty, kitty and others install an entry of their own, which distributions lack.
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
