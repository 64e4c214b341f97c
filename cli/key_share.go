package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

func (a *app) keyAddRecipient() *cobra.Command {
	var name, identity string
	cmd := &cobra.Command{
		Use: "add-recipient AGE_RECIPIENT", Args: cobra.ExactArgs(1),
		Short: "let another age identity open the backups too",
		Long: `Let another age identity open the backups too, both the existing and later ones. It is given by its recipient (age1..., as
age-keygen prints it). With --identity, the identity itself is checked at once. Without it, key status and doctor warn that
it was never checked, since nobody can open the backups with a mistyped recipient or a lost identity. Give the command
again with --identity to end the warning.`,
		Example: "  age-keygen -o /media/stick/backup.age-identity\n  hermes-box key add-recipient age1... --name stick --identity /media/stick/backup.age-identity",
		RunE: func(cmd *cobra.Command, args []string) error {
			return onKey(cmd.Context(), a, verb(cmd), func(b *ops.Box, sink ops.Sink) (*ops.RecipientChange, error) {
				return b.AddRecipient(cmd.Context(), args[0], name, identity, sink)
			}, func(p *printer, b *ops.Box, done *ops.RecipientChange) {
				who := who(done.Recipient)
				if done.Already {
					p.line("%s can open the backups of box %s already", who, p.bold(b.Name()))
				} else {
					p.line("%s %s can open the backups of box %s", p.green("✓"), who, p.bold(b.Name()))
				}
				if !done.Proven {
					p.line("%s its identity was never checked: if nobody has it, the recipient is useless", p.yellow("!"))
					p.line("  %s", p.dim("→ hermes-box key add-recipient "+done.Recipient.Recipient+" --identity FILE"))
				}
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "a name for the recipient, to be shown")
	cmd.Flags().StringVar(&identity, "identity", "", "file with the recipient's identity, to prove that it exists; it is only read")
	return cmd
}

func (a *app) keyRemoveRecipient() *cobra.Command {
	return &cobra.Command{
		Use: "remove-recipient AGE_RECIPIENT|NAME", Args: cobra.ExactArgs(1),
		Short: "remove a recipient, so that it can no longer open the backups",
		Long: `Remove a recipient, so that it can no longer open the backups, neither the existing nor later ones. Its identity still
opens copies of the backups that were made before, and files that were exported before: nothing can take that back.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return onKey(cmd.Context(), a, verb(cmd), func(b *ops.Box, sink ops.Sink) (*ops.RecipientChange, error) {
				return b.RemoveRecipient(cmd.Context(), args[0], sink)
			}, func(p *printer, b *ops.Box, done *ops.RecipientChange) {
				who := who(done.Recipient)
				p.line("%s %s can no longer open the backups of box %s, except copies that were made until now", p.green("✓"), who, p.bold(b.Name()))
			})
		},
	}
}

func (a *app) keyAddPassphrase() *cobra.Command {
	var stdin bool
	cmd := &cobra.Command{
		Use: "add-passphrase", Args: cobra.ArbitraryArgs, // cobra's error about an argument would repeat the passphrase
		Short: "let a passphrase open the backups too",
		Long: fmt.Sprintf(`Let a passphrase open the backups too; it replaces an earlier one. It opens the backups on this machine and copies of their
directory, but no file that hermes-box backup export writes: such a file opens with the key and for the other recipients, or with a
passphrase of its own. It is asked for twice without echo, or read from stdin with --stdin, and has at least %d characters. It is
kept nowhere: write it down.`, keys.MinPassphrase),
		Example: "  hermes-box key add-passphrase\n  pass show hermes-box | hermes-box key add-passphrase --stdin",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fault.New(fault.InvalidInput, "do not give the passphrase as an argument: other users of this machine can read it").
					Hint("to be asked for it: hermes-box key add-passphrase")
			}
			if _, err := a.openBox(); err != nil {
				return err
			}
			passphrase, err := a.passphrase(cmd.Context(), "hermes-box key add-passphrase", stdin, true)
			if err != nil {
				return err
			}
			return onKey(cmd.Context(), a, verb(cmd), func(b *ops.Box, sink ops.Sink) (*ops.PassphraseSet, error) {
				return b.AddPassphrase(cmd.Context(), passphrase, sink)
			}, func(p *printer, b *ops.Box, done *ops.PassphraseSet) {
				p.line("%s the passphrase opens the backups of box %s; it is kept nowhere: write it down", p.green("✓"), p.bold(b.Name()))
				p.line("It opens them here, and copies of %s, but no exported file.", shellescape.Quote(b.Pool()))
				if done.Replaced {
					p.line("The earlier passphrase opens only copies that were made until now.")
				}
			})
		},
	}
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the passphrase from stdin, to the end of the line")
	return cmd
}

func (a *app) keyRemovePassphrase() *cobra.Command {
	return &cobra.Command{
		Use: "remove-passphrase", Args: cobra.NoArgs,
		Short: "remove the passphrase, so that it can no longer open the backups",
		Long: `Remove the passphrase that hermes-box key add-passphrase has set, so that it can no longer open the backups, neither the
existing nor later ones. It still opens copies of the backups that were made before: nothing can take that back. Exported
files do not change: they have a passphrase of their own, or none.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onKey(cmd.Context(), a, verb(cmd), func(b *ops.Box, sink ops.Sink) (*ops.PassphraseRemoved, error) {
				return b.RemovePassphrase(cmd.Context(), sink)
			}, func(p *printer, b *ops.Box, done *ops.PassphraseRemoved) {
				if done.Already {
					p.line("no passphrase opens the backups of box %s: nothing to do", p.bold(b.Name()))
					return
				}
				p.line("%s the passphrase can no longer open the backups of box %s, except copies that were made until now", p.green("✓"), p.bold(b.Name()))
			})
		},
	}
}

// maxPassphrase is a number of bytes that no real passphrase has. At most twice as many are read from stdin.
const maxPassphrase = 4 << 10

// passphrase reads a passphrase from stdin, or asks for it on the terminal without showing it. It asks twice for a new
// passphrase. command is the command line that hints name.
func (a *app) passphrase(ctx context.Context, command string, stdin, fresh bool) (string, error) {
	in := bufio.NewReader(io.LimitReader(a.stdin, 2*maxPassphrase))
	if !isTerminal(a.stdin) {
		if !stdin {
			return "", fault.New(fault.InvalidInput, "a terminal is needed to ask for the passphrase").
				Hint("%s --stdin <PASSPHRASE_FILE", command)
		}
		return readLine(ctx, in, command)
	}
	fd, _ := a.stdin.(interface{ Fd() uintptr })
	defer hideInput(int(fd.Fd()))()
	var given [2]string
	for i, question := range []string{"Passphrase: ", "The same again: "} {
		fmt.Fprint(a.errs, question)
		text, err := readLine(ctx, in, command)
		fmt.Fprintln(a.errs)
		if err == nil && i == 0 && fresh {
			err = keys.CheckPassphrase(text)
		}
		if err != nil || !fresh {
			return text, err
		}
		given[i] = text
	}
	if given[0] != given[1] {
		return "", fault.New(fault.InvalidInput, "the two passphrases differ").Hint("%s", command)
	}
	return given[0], nil
}

// readLine reads a passphrase from a line. An empty one is an error, and so is the first line of a file that key export
// or age-keygen wrote: that line is the same in many files.
func readLine(ctx context.Context, in *bufio.Reader, command string) (string, error) {
	text, err := readText(ctx, in)
	switch {
	case err != nil:
	case text == "":
		err = fault.New(fault.InvalidInput, "no passphrase was given").Hint("%s", command)
	case strings.HasPrefix(text, "# "), strings.HasPrefix(text, "AGE-SECRET-KEY-"):
		err = fault.New(fault.InvalidInput, "this is the beginning of a file with a key, not a passphrase").Hint("%s", command)
	}
	return text, err
}

// readText reads a line without its end. It returns when the context ends, even if no line has come.
func readText(ctx context.Context, in *bufio.Reader) (string, error) {
	type result struct {
		text string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := in.ReadString('\n')
		read <- result{strings.TrimRight(text, "\r\n"), err}
	}()
	select {
	case r := <-read:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return "", r.err
		}
		return r.text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
