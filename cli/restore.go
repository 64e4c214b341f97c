package cli

import (
	"cmp"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"hermes-box/internal/age"
	"hermes-box/internal/sanitize"
	"hermes-box/internal/spell"
	"hermes-box/ops"
	"hermes-box/ops/keys"
)

func (a *app) restore() *cobra.Command {
	o, _ := ops.OperationNamed("restore")
	var from ops.RestoreFrom
	identity, passphrase, stdin := "", false, false
	cmd := &cobra.Command{
		Use: "restore BACKUP", GroupID: "box", Args: cobra.ExactArgs(1),
		Short: o.Effect,
		Long: o.Long + `

BACKUP is a backup that hermes-box backup list shows (its id, the beginning of one, its label, or latest), or a file that hermes-box backup export wrote; the backup in
it is added to those of the box. The backups of a box that was destroyed stay, with the key that opens them. On a machine
that does not have the key, --identity names a file that hermes-box key export wrote. --passphrase asks for the passphrase of
hermes-box key add-passphrase, which opens the listed backups but no exported file. If an exported file has a passphrase of its
own, restore asks for it.

The logins of the old box are in the backup. If the old box still runs, stop it: both use the same logins, and each
can sign the other out.`,
		Example:    "  hermes-box restore latest\n  hermes-box restore /media/stick/main.hermes-box --identity /media/stick/main.age-identity",
		SuggestFor: strings.Fields(o.Words),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.warnOfClock(b, args[0])
			b.Mirrors = append(b.Mirrors, a.mirrors...)
			b.KeyStore = cmp.Or(a.keyStore, b.KeyStore)
			from.Backup = args[0]
			exported, err := b.IsExported(from.Backup)
			switch {
			case err != nil:
			case exported:
				from.Identities, err = a.exportedWith(cmd, from.Backup, identity, passphrase || stdin, stdin)
			case passphrase || stdin:
				from.Passphrase, err = a.passphrase(cmd.Context(), "hermes-box restore "+shellescape.Quote(from.Backup)+" --passphrase", stdin, false)
			case identity != "":
				from.Identities, err = keys.ReadIdentities(identity)
			}
			if err != nil {
				return err
			}
			sink, end := a.sink()
			done, err := b.Restore(cmd.Context(), from, sink)
			end()
			if err != nil {
				return err
			}
			return a.result(o.Name, done, func(p *printer) { restored(p, b, done) })
		},
	}
	cmd.Flags().StringVar(&identity, "identity", "", "file with an age identity that opens the backup; it is only read")
	cmd.Flags().BoolVar(&passphrase, "passphrase", false, "open the listed backups with their passphrase, which is asked for")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the passphrase from stdin, to the end of the line")
	cmd.MarkFlagsMutuallyExclusive("passphrase", "identity")
	cmd.Flags().StringVar(&from.Lock, "lock", "", "install the software of this lock instead of the one in the backup")
	cmd.Flags().StringVar(&a.keyStore, "key-store", "", "where the key is kept: file, keychain or secret-service; default: the keyring, else a file")
	cmd.Flags().StringArrayVar(&a.mirrors, "mirror", nil, "directory or base URL to ask first for artifacts, by digest")
	return cmd
}

// lostShown is how many losses are printed; all are in the JSON.
const lostShown = 20

func restored(p *printer, b *ops.Box, done *ops.Restored) {
	p.done("restore", b)
	components(p, done.Status)
	p.line("")
	of := ""
	if done.OldBox != b.Name() {
		of = " of box " + done.OldBox
	}
	p.line("%-12s %s%s, %s old", "backup:", done.Backup, of, age.Format(time.Since(done.Time)))
	p.line("%-12s %s, %s; all compared with the backup", "restored:", spell.Count(done.Entries, "file"), sizeText(done.Bytes))
	if done.Key != nil {
		p.line("%-12s %s; to keep a copy elsewhere, in case this machine is lost: hermes-box key export FILE", "key:", done.Key.Where)
	}
	if w := done.KeyWarning(); w != nil {
		keyWarning(p, *w)
	}
	if done.LockFile != "" {
		p.line("%-12s %s is written, from the backup", "lock:", done.LockFile)
	}
	if done.Missing > 0 {
		p.line("%s the backup is partial: it lacks %s, which could not be read when it was made", p.yellow("!"), spell.Count(done.Missing, "file"))
	}
	for i, lost := range done.Lost {
		if i == lostShown {
			p.line("%s and %d more losses; --json lists all", p.yellow("!"), len(done.Lost)-i)
			break
		}
		p.line("%s lost: %s of %s", p.yellow("!"), sanitize.Text(lost.Part), sanitize.Text(string(lost.Path)))
	}
	drift(p, done.Drift)
	suspects(p, done.Suspects)
	p.line("%s if the old box still runs, stop it: both have the same logins, and each can sign the other out", p.yellow("!"))
	p.line("to make a backup of the new box: hermes-box backup")
}
