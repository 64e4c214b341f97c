package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"hermes-box/internal/terminal"
	"hermes-box/ops"
	"hermes-box/ops/fault"
)

// signIns is the result of login.
type signIns struct {
	Steps []ops.SignIn `json:"steps"`
	Done  int          `json:"done"`
}

func (a *app) login() *cobra.Command {
	return &cobra.Command{
		Use: "login [" + strings.Join(ops.SignInIDs(), "|") + "]", GroupID: "work", Args: cobra.MaximumNArgs(1), ValidArgs: ops.SignInIDs(),
		Short: "sign in to the agents, step by step",
		Long: `Sign in to the agents in the box, step by step and in any order. Each step says what it is for. Most steps
run a command in the box on this terminal; the others open a page in the browser or ask for a token. The box is asked each
time which steps are done and nothing is remembered: leave at any time and come back later.

With the name of a step only that step is run. --json lists the steps, and so does login without a terminal if no step is
named. ACCESSIBLE=1 asks line by line, for screen readers.`,
		Example: "  hermes-box login\n  hermes-box login codex\n  hermes-box login --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := oneOf(cmd, "step", args[0], ops.SignInIDs()); err != nil {
					return err
				}
			}
			b, err := a.openBox()
			if err != nil {
				return err
			}
			terminal := isTerminal(a.stdin) && isTerminal(a.stdout)
			switch {
			case len(args) == 1 && !a.json:
				return a.loginStep(cmd.Context(), b, args[0], terminal)
			case terminal && !a.json:
				return a.walk(cmd.Context(), b)
			}
			steps, err := a.askSignIns(cmd.Context(), b)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				steps = only(steps, args[0])
			}
			return a.result("login", steps, func(p *printer) { signInsText(p, steps) })
		},
	}
}

func only(s signIns, id string) (out signIns) {
	for _, step := range s.Steps {
		if step.ID == id {
			out.Steps = append(out.Steps, step)
			if step.Done {
				out.Done++
			}
		}
	}
	return out
}

// askSignIns asks the box which steps are done.
func (a *app) askSignIns(ctx context.Context, b *ops.Box) (signIns, error) {
	if accessible() {
		a.note("asking the box...")
	}
	over := a.meanwhile("asking the box")
	steps, err := b.SignIns(ctx)
	over()
	s := signIns{Steps: steps}
	for _, step := range steps {
		if step.Done {
			s.Done++
		}
	}
	return s, err
}

func signInsText(p *printer, s signIns) {
	p.line("%d of %d signed in", s.Done, len(s.Steps))
	for _, step := range s.Steps {
		p.line("  %s", signInLine(p.style, step))
		if !step.Done {
			p.line("    %s", p.dim(step.Type))
		}
	}
}

// signInLine returns a step in one line: glyph, title and state.
func signInLine(s style, step ops.SignIn) string {
	glyph, word := s.yellow("◦"), "to do"
	if step.Done {
		glyph, word = s.green("✓"), "done"
	}
	return strings.TrimRight(fmt.Sprintf("%s %-28s %-6s %s", glyph, step.Title, word, s.dim(step.Detail)), " ")
}

// loginStep does one step and prints its state afterwards.
func (a *app) loginStep(ctx context.Context, b *ops.Box, id string, terminal bool) error {
	step, err := b.SignIn(ctx, id)
	if err != nil {
		return err
	}
	if !terminal && step.URL == "" {
		f := fault.New(fault.InvalidInput, "login %s needs a terminal", id)
		if step.Setup != "" {
			return f.Hint("hermes-box setup %s --token-stdin <FILE", step.Setup)
		}
		return f.Hint("in a terminal: %s", step.Type)
	}
	if step.Setup != "" {
		a.screen = a.openScreen()
		defer a.screen.leave()
	}
	err = a.doSignIn(ctx, b, step)
	a.screen.leave()
	if err != nil {
		return err
	}
	if step, err = b.SignIn(ctx, id); err != nil {
		return err
	}
	if !step.Done && step.URL == "" {
		return fault.New(fault.HealthFailed, "%s: %s", step.Title, step.Detail).Hint("hermes-box login %s", id)
	}
	return a.result("login", step, func(p *printer) { p.line("%s", signInLine(p.style, step)) })
}

// doSignIn does a step: it opens an address, asks for a token, or runs a program in the box on this terminal.
func (a *app) doSignIn(ctx context.Context, b *ops.Box, step ops.SignIn) error {
	switch {
	case step.URL != "":
		if a.screen == nil { // otherwise the card shows it
			fmt.Fprintln(a.out, step.URL)
		}
		a.browse(step.URL)
		return nil
	case step.Setup != "":
		token, err := a.askToken(ctx)
		if err != nil {
			return err
		}
		a.screen.clear()
		sink, end := a.sink()
		defer end()
		_, err = b.SetupExecutor(ctx, token, sink)
		return err
	}
	return a.runSignIn(ctx, b, step)
}

// runSignIn runs the program of a step in the box, on the normal screen of this terminal.
func (a *app) runSignIn(ctx context.Context, b *ops.Box, step ops.SignIn) error {
	c, err := b.SignInCommand(ctx, step)
	if err != nil {
		return err
	}
	a.screen.leave()
	if a.screen != nil {
		fmt.Fprintf(a.out, "hermes-box: in the box: %s\n", strings.Join(step.Command, " "))
	}
	c.Stdin, c.Stdout, c.Stderr = a.stdin, a.stdout, a.stderr
	err = terminal.RunOnTerminal(c)
	if ctx.Err() != nil {
		return err
	}
	sink, end := ops.Sink(nil), func() {}
	if err == nil { // a program that failed may still have set up something, but that is not reported as done
		sink, end = a.sink()
	}
	err = errors.Join(err, b.SignInEnded(ctx, step, sink))
	end()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		fmt.Fprintln(a.errs) // its output may have ended within a line
		a.screen.waitForEnter(ctx, a.stdin)
		return fault.New(fault.ExternalFailed, "%s ended with status %d", strings.Join(step.Command, " "), exit.ExitCode()).
			Hint("hermes-box login %s", step.ID)
	}
	return err
}

// browse opens an address in a local browser, if there is one.
func (a *app) browse(url string) {
	if os.Getenv("SSH_CONNECTION") != "" {
		return
	}
	if browse(url) != nil {
		a.note("no browser could be opened: open the address yourself")
	}
}
