package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"charm.land/huh/v2"
	"github.com/spf13/cobra"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/fault"
)

func (a *app) setup() *cobra.Command {
	var stdin bool
	cmd := &cobra.Command{
		Use: "setup executor", GroupID: "work", Args: cobra.ExactArgs(1), ValidArgs: []string{"executor"},
		Short: "give Hermes the token of Executor",
		Long: `Give Hermes the token of Executor. The token is asked for without echo, or read from stdin with --token-stdin.

It is tried first: Executor must accept it and offer exactly the tools execute and resume. Then it is stored in Hermes's
environment file in the box, Hermes is restarted and must find the same tools. If that fails, Hermes stays as it was.
Running setup again with the same token changes nothing.`,
		Example: "  hermes-box setup executor\n  " + ops.ShowToken + " | hermes-box setup executor --token-stdin",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "service", args[0], []string{"executor"}); err != nil {
				return err
			}
			b, err := a.openBox()
			if err != nil {
				return err
			}
			token, err := a.token(cmd.Context(), stdin)
			if err != nil {
				return err
			}
			sink, end := a.sink()
			done, err := b.SetupExecutor(cmd.Context(), token, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("setup", done, func(p *printer) { setupText(p, done) })
		},
	}
	cmd.Flags().BoolVar(&stdin, "token-stdin", false, "read the token from stdin")
	return cmd
}

func setupText(p *printer, done *ops.ExecutorSetup) {
	if done.Already {
		p.line("Hermes already has this token and uses Executor: %s", strings.Join(done.Tools, ", "))
		return
	}
	p.line("%s Hermes uses Executor: %s", p.green("✓"), strings.Join(done.Tools, ", "))
}

// maxToken is the number of bytes that token reads from stdin at most. protocol.ValidToken accepts no token that long.
const maxToken = 16 << 10

// token reads a token from stdin, or asks for it on the terminal without showing it.
func (a *app) token(ctx context.Context, stdin bool) (string, error) {
	if isTerminal(a.stdin) {
		return a.askToken(ctx)
	}
	if !stdin {
		return "", fault.New(fault.InvalidInput, "setup executor needs a terminal to ask for the token").
			Hint("hermes-box setup executor --token-stdin <FILE")
	}
	text, err := io.ReadAll(io.LimitReader(a.stdin, maxToken))
	if err != nil {
		return "", err
	}
	return bareToken(string(text)), nil
}

// askToken asks for the token of Executor.
func (a *app) askToken(ctx context.Context) (string, error) {
	var text string
	question := huh.NewInput().Title("Executor's token").Prompt("").EchoMode(huh.EchoModeNone).Value(&text).
		Description("Paste it (it stays hidden) and press enter. To see it in the box:\n" + a.typed(ops.ShowToken)).
		Validate(func(text string) error {
			if text != "" && !protocol.ValidToken(bareToken(text)) {
				return errors.New("a token is made of letters, digits and -._~+/=")
			}
			return nil
		})
	switch err := a.ask(ctx, a.errs, question); {
	case errors.Is(err, errLeft):
		return "", fault.New(fault.Interrupted, "no token was given").Hint("%s", ops.ShowToken)
	case err != nil:
		return "", err
	}
	if text == "" {
		return "", fault.New(fault.InvalidInput, "no token was given").Hint("%s", ops.ShowToken)
	}
	return bareToken(text), nil
}

// bareToken removes what may precede a token: EXECUTOR_AUTH_TOKEN= in an environment file, or
// "Authorization: Bearer" in a header.
func bareToken(text string) string {
	text = strings.TrimSpace(text)
	for _, prefix := range []string{"EXECUTOR_AUTH_TOKEN=", "Authorization: ", "Bearer "} {
		text = strings.TrimSpace(strings.TrimPrefix(text, prefix))
	}
	return text
}
