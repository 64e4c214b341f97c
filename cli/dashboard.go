package cli

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hermes-box/internal/terminal"
	"hermes-box/ops/fault"
	"hermes-box/tui"
	"hermes-box/tui/widget"
)

// dashboardFlags adds the flags of hermes-box without a verb.
func dashboardFlags(flags *pflag.FlagSet) {
	flags.StringArray("mirror", nil, "directory or base URL to ask first for artifacts, if the dashboard creates the box")
}

// alone runs hermes-box without a verb: it shows the dashboard. It prints the status instead if there is no terminal,
// with --json or --events, for a screen reader, and on a dumb terminal.
func (a *app) alone(cmd *cobra.Command) error {
	in, inOK := a.stdin.(*os.File)
	out, outOK := a.stdout.(*os.File)
	plain := os.Getenv("TERM") == "dumb" || os.Getenv("ACCESSIBLE") != "" // a screen reader cannot follow a screen that is redrawn
	if plain || a.json || a.events || !inOK || !outOK || !isTerminal(in) || !isTerminal(out) {
		return a.runStatus(cmd.Context())
	}
	theme := os.Getenv("HERMES_BOX_THEME")
	if theme != "" && !slices.Contains(widget.Themes, theme) {
		return fault.New(fault.InvalidInput, "HERMES_BOX_THEME is %q, which is not ansi, dark or light", theme).Hint("unset HERMES_BOX_THEME")
	}
	h, err := a.host()
	if err != nil {
		return err
	}
	mirrors, err := cmd.Flags().GetStringArray("mirror")
	if err != nil {
		return err
	}
	h.Mirrors = append(mirrors, h.Mirrors...)
	a.quiet = true // notes would be drawn over the screen
	options := tui.Options{In: in, Out: out, Errors: a.errs, Color: a.color, Theme: theme, ASCII: a.ascii, Typed: a.typed, SignIn: a.signIn}
	if os.Getenv("SSH_CONNECTION") == "" {
		options.Browse = browse
	}
	if a.demo {
		options.Label = "demo"
	}
	return tui.Run(cmd.Context(), tui.On(h, a.configPath), options)
}

// signIn runs login, or one step of it, as a separate process on this terminal, so that it receives all keys, even
// ctrl-c.
func (a *app) signIn(ctx context.Context, step string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	path, err := a.configPath()
	if err != nil {
		return err
	}
	args := []string{"login", "--color", a.color, "--config", path}
	if a.demo {
		args = []string{"login", "--color", a.color, "--demo"}
	}
	if a.ascii {
		args = append(args, "--ascii")
	}
	if step != "" {
		args = append(args, step)
	}
	c := exec.CommandContext(ctx, program, args...)
	c.Args[0] = os.Args[0]
	c.Stdin, c.Stdout, c.Stderr = a.stdin, a.stdout, a.stdout
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // login restores the terminal
	c.WaitDelay = 2 * time.Second
	a.handedOver.Store(true)
	defer a.handedOver.Store(false)
	return terminal.RunOnTerminal(c)
}

// browse opens an address in the browser of this machine.
func browse(url string) error {
	c := exec.Command(opener(), url)
	if err := c.Start(); err != nil {
		return err
	}
	go c.Wait() // some openers run as long as the browser does
	return nil
}
