package cli

import (
	"context"
	"errors"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"hermes-box/internal/terminal"
	"hermes-box/limactl/ssh"
	"hermes-box/ops"
	"hermes-box/ops/fault"
)

func (a *app) ssh() *cobra.Command {
	return &cobra.Command{
		Use: "ssh", GroupID: "work", Args: cobra.NoArgs,
		Short:       "attach this terminal to tmux session main in the box",
		Long:        "Attach this terminal to tmux session main in the box, in /workspace. Detach with ctrl-b d; programs\nthere keep running. The exit status is that of the session.",
		Annotations: map[string]string{rawOutput: "yes"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !isTerminal(a.stdin) {
				return fault.New(fault.InvalidInput, "ssh needs a terminal").Hint("to run a command without one: hermes-box exec -- COMMAND")
			}
			b, err := a.openBox()
			if err != nil {
				return err
			}
			c, err := b.Attach(cmd.Context())
			if err != nil {
				return err
			}
			c.Stdin, c.Stdout, c.Stderr = a.stdin, a.stdout, a.stderr
			return a.passStatus(cmd.Context(), b, terminal.RunOnTerminal(c))
		},
	}
}

func (a *app) exec() *cobra.Command {
	var tty bool
	cmd := &cobra.Command{
		Use: "exec [-t] [--] COMMAND [ARG...]", GroupID: "work", Args: cobra.MinimumNArgs(1),
		Short: "run one command in the box",
		Long: `Run one command in the box as agent, in /workspace. Arguments arrive exactly as given, stdin, stdout and
stderr are passed through, and the exit status is that of the command.`,
		Example:     "  hermes-box exec -- claude --version\n  tar c . | hermes-box exec -- tar x -C /workspace\n  hermes-box exec -t -- hermes setup",
		Annotations: map[string]string{rawOutput: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if tty && !isTerminal(a.stdin) {
				return fault.New(fault.InvalidInput, "-t needs a terminal").Hint("leave out -t")
			}
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.remote = true
			return b.Exec(cmd.Context(), ssh.Exec{Args: args, Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr, TTY: tty})
		},
	}
	cmd.Flags().BoolVarP(&tty, "tty", "t", false, "give the command a terminal")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// passStatus returns the status of a session in the box as the status of this program, and reports a lost connection.
func (a *app) passStatus(ctx context.Context, b *ops.Box, err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() <= 0 {
		return err
	}
	if exit.ExitCode() == ssh.Lost && ctx.Err() == nil {
		a.printError("ssh", &ssh.TransportError{Instance: b.Name(), Started: true})
	}
	a.remote = true
	return &ssh.ExitError{Status: exit.ExitCode()}
}

func (a *app) open() *cobra.Command {
	var print bool
	cmd := &cobra.Command{
		Use: "open [executor|dashboard]", GroupID: "work", Args: cobra.MaximumNArgs(1), ValidArgs: []string{"executor", "dashboard"},
		Short: "open Executor's portal or Hermes's dashboard in the browser",
		RunE: func(cmd *cobra.Command, args []string) error {
			service := "executor"
			if len(args) == 1 {
				service = args[0]
			}
			if err := oneOf(cmd, "service", service, cmd.ValidArgs); err != nil {
				return err
			}
			b, err := a.openBox()
			if err != nil {
				return err
			}
			url, err := b.Open(cmd.Context(), service)
			if err != nil {
				return err
			}
			if !print && !a.json {
				a.browse(url)
			}
			if service == "executor" {
				a.note("Executor asks for a token; to see it: " + ops.ShowToken)
			}
			return a.result("open", map[string]string{"url": url}, func(p *printer) { p.line("%s", url) })
		},
	}
	cmd.Flags().BoolVar(&print, "print", false, "only print the address")
	return cmd
}

func opener() string {
	if runtime.GOOS == "darwin" {
		return "open"
	}
	return "xdg-open"
}
