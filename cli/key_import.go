package cli

import (
	"cmp"
	"context"
	"errors"
	"io"

	"al.essio.dev/pkg/shellescape"
	"filippo.io/age"
	"github.com/spf13/cobra"

	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

func (a *app) keyImport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE", Args: cobra.ExactArgs(1),
		Short: "put back a lost identity of the box, from a file that key export wrote",
		Long: `Put back the identity of the box that was lost with its keyring or its file, from a file that key export wrote; - reads
stdin. The file is only read. Its identity must be the one that the record of the key names or, if the record is lost too,
must open the newest backup of the box. An identity that works is never replaced, and the identity is never printed.`,
		Example: "  hermes-box key import /media/stick/main.age-identity\n  pass show main.age-identity | hermes-box key import -",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := a.openBox(); err != nil {
				return err
			}
			from, file := args[0], args[0]
			if from == "-" {
				from, file = "the text on stdin", "FILE"
			}
			given, err := a.identities(cmd.Context(), args[0], from)
			if errors.Is(err, keys.ErrEncrypted) {
				return fault.New(fault.InvalidInput, "%w", err).Hint("age -d %s | hermes-box key import -", shellescape.Quote(file))
			}
			if err != nil {
				return err
			}
			return onKey(cmd.Context(), a, verb(cmd), func(b *ops.Box, sink ops.Sink) (*ops.KeyImported, error) {
				b.KeyStore = cmp.Or(a.keyStore, b.KeyStore)
				return b.ImportKey(cmd.Context(), given, from, sink)
			}, func(p *printer, b *ops.Box, done *ops.KeyImported) {
				if done.Already {
					p.line("box %s has this identity: %s", p.bold(b.Name()), done.Where)
					return
				}
				p.line("%s the identity of box %s is in %s", p.green("✓"), p.bold(b.Name()), done.Where)
			})
		},
	}
	cmd.Flags().StringVar(&a.keyStore, "key-store", "", "where the key is kept: file, keychain or secret-service; default: the keyring, else a file")
	return cmd
}

// identities reads age identities from a file, or from stdin if file is "-". In errors, the argument from stands
// for stdin.
func (a *app) identities(ctx context.Context, file, from string) ([]age.Identity, error) {
	if file != "-" {
		return keys.ReadIdentities(file)
	}
	if isTerminal(a.stdin) {
		return nil, fault.New(fault.InvalidInput, "an identity is not read from a terminal, which would show it").
			Hint("hermes-box key import - <FILE")
	}
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(a.stdin, keys.IdentityLimit))
		read <- result{data, err}
	}()
	select {
	case r := <-read:
		if r.err != nil {
			return nil, r.err
		}
		return keys.ParseIdentities(r.data, from)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
