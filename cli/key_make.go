package cli

import (
	"filippo.io/age"
	"github.com/spf13/cobra"

	"hermes-box/ops"
	"hermes-box/ops/keys"
)

func (a *app) keyMake() *cobra.Command {
	identity, passphrase, stdin := "", false, false
	cmd := &cobra.Command{
		Use: "make", Args: cobra.NoArgs,
		Short: "make the key of a box that has none, or a new one if it is lost",
		Long: `Make the key of a box that has none, because an earlier version made the box. If the box has backups, no key is made:
the key that opens them is looked for in the keyring and in its file, and recorded again.

If the key is lost and you have no exported copy of it, give something else that opens the backups: --passphrase asks for
their passphrase, and --identity names a file with the identity of another recipient. A new key is then made that opens the
backups too. All backups stay, and what could open them before still can. A key that works is never replaced.`,
		Example: "  hermes-box key make\n  hermes-box key make --passphrase\n  hermes-box key make --identity /media/stick/backup.age-identity",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := a.openBox(); err != nil {
				return err
			}
			var given []age.Identity
			var err error
			secret := ""
			switch {
			case identity != "":
				given, err = keys.ReadIdentities(identity)
			case passphrase || stdin:
				secret, err = a.passphrase(cmd.Context(), "hermes-box key make --passphrase", stdin, false)
			}
			if err != nil {
				return err
			}
			return onKey(cmd.Context(), a, verb(cmd), func(b *ops.Box, sink ops.Sink) (*ops.KeyMade, error) {
				return b.MakeKey(cmd.Context(), given, secret, sink)
			}, keyMade)
		},
	}
	cmd.Flags().StringVar(&identity, "identity", "", "file with the identity of another recipient, which opens the backups; it is only read")
	cmd.Flags().BoolVar(&passphrase, "passphrase", false, "open the backups with their passphrase, which is asked for")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the passphrase from stdin, to the end of the line")
	cmd.MarkFlagsMutuallyExclusive("passphrase", "identity")
	cmd.MarkFlagsMutuallyExclusive("stdin", "identity")
	return cmd
}

func keyMade(p *printer, b *ops.Box, made *ops.KeyMade) {
	switch {
	case made.Found:
		p.line("%s the identity of box %s is found, and its record is written again: %s", p.green("✓"), p.bold(b.Name()), made.Where)
		return
	case made.Rewritten:
		p.line("%s the key of the backups of box %s was missing or damaged, and is written again", p.green("✓"), p.bold(b.Name()))
		return
	case made.Already:
		p.line("box %s has a key: %s", p.bold(b.Name()), made.Where)
		return
	}
	p.line("%s the key of box %s is in %s", p.green("✓"), p.bold(b.Name()), made.Where)
	if made.Earlier != "" {
		p.line("  it opens all backups of the box; a copy of the lost key would still open them")
		p.line("  %s", p.dim("→ to end that: hermes-box key remove-recipient "+made.Earlier))
	}
	keyWarning(p, ops.NewKey)
}
