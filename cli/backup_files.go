package cli

import (
	"cmp"
	"slices"

	"al.essio.dev/pkg/shellescape"
	"filippo.io/age"
	"github.com/spf13/cobra"

	"hermes-box/internal/sanitize"
	"hermes-box/internal/spell"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

func (a *app) backupExport() *cobra.Command {
	passphrase, stdin := false, false
	cmd := &cobra.Command{
		Use: "export ID FILE", Args: cobra.ExactArgs(2),
		Short: "write a backup with everything that it needs into one new file",
		Long: `Write a backup with everything that it needs into one new file: its data, its lock, and the software that the lock names.
The key of the box opens the file (hermes-box key export writes a copy of the key), and so do the identities of the other
recipients. With --passphrase, only a passphrase that you choose opens it. The passphrase of hermes-box key add-passphrase
does not open it.

The file is read back and compared before it gets its name, and an existing file is never replaced. age, zstd and tar open
the file without this program.`,
		Example: "  hermes-box backup export 20261130T120000Z-first /media/stick/main.hermes-box",
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.warnOfClock(b, args[0])
			b.Mirrors = append(b.Mirrors, a.mirrors...)
			secret := ""
			if passphrase || stdin {
				if secret, err = a.passphrase(cmd.Context(), "hermes-box backup export "+shellescape.QuoteCommand(args)+" --passphrase", stdin, true); err != nil {
					return err
				}
			}
			sink, end := a.sink()
			made, err := b.ExportBackup(cmd.Context(), args[0], args[1], secret, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("backup export", made, func(p *printer) { exported(p, made) })
		},
	}
	cmd.Flags().BoolVar(&passphrase, "passphrase", false, "encrypt it only with a passphrase, which is asked for twice")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the passphrase from stdin, to the end of the line")
	cmd.Flags().StringArrayVar(&a.mirrors, "mirror", nil, "directory or base URL to ask first for software that is not on this machine, by digest")
	return cmd
}

func exported(p *printer, made *ops.BackupExported) {
	p.line("%s backup %s is in %s: %s, read back and compared", p.green("✓"), p.bold(made.ID), shellescape.Quote(made.Path), sizeText(made.Size))
	if made.Passphrase {
		p.line("  only the passphrase opens it, and the passphrase is stored nowhere")
	}
	for _, r := range made.Named {
		switch {
		case r.Name == ops.OwnName:
			p.line("  the key of this box opens it")
		case !r.Proven:
			p.line("  the identity of %s opens it; nobody has checked that this identity exists", who(r))
		default:
			p.line("  the identity of %s opens it", who(r))
		}
	}
	if made.OnlyKey {
		p.line("%s only this machine has the key: without a copy of the key, the file cannot be opened elsewhere", p.yellow("!"))
		p.line("  %s", p.dim("→ hermes-box key export FILE"))
	}
	for _, name := range made.Missing {
		p.line("%s not in it: %s", p.yellow("!"), name)
	}
}

func (a *app) backupImport() *cobra.Command {
	identity, stdin := "", false
	cmd := &cobra.Command{
		Use: "import FILE", Args: cobra.ExactArgs(1),
		Short: "add the backup in an exported file to the backups of the box",
		Long: `Add the backup in an exported file to the backups of the box, encrypted to the key of the box. The file is opened with that
key, with an identity in another file, or with the passphrase that it was exported with. The backup is listed only after
the file was read to its end and the backup was read back.

import cannot tell who made a file: anybody who knows the recipient of the key can make one. The box need not exist.`,
		Example: "  hermes-box backup import /media/stick/main.hermes-box --identity /media/stick/main.age-identity",
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			b.KeyStore = cmp.Or(a.keyStore, b.KeyStore)
			identities, err := a.exportedWith(cmd, args[0], identity, stdin, stdin)
			if err != nil {
				return err
			}
			sink, end := a.sink()
			got, err := b.ImportBackup(cmd.Context(), args[0], identities, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("backup import", got, func(p *printer) { imported(p, got) })
		},
	}
	cmd.Flags().StringVar(&identity, "identity", "", "file with an identity that opens the backup; it is only read")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the passphrase from stdin, to the end of the line")
	cmd.Flags().StringVar(&a.keyStore, "key-store", "", "if the box has no key yet, where to keep it: file, keychain (macOS) or secret-service (Linux)")
	return cmd
}

// exportedWith returns the identities that open an exported file besides the key of the box: those in a file and, if the
// exported file needs one, the passphrase. given says that the user wants to give a passphrase, from stdin if stdin is set.
func (a *app) exportedWith(cmd *cobra.Command, file, identity string, given, stdin bool) (opens []age.Identity, err error) {
	if identity != "" {
		if opens, err = keys.ReadIdentities(identity); err != nil {
			return nil, err
		}
	}
	needs, err := ops.NeedsPassphrase(file)
	if err == nil && !needs && given {
		err = fault.New(fault.InvalidInput, "%s was exported without a passphrase, so no passphrase opens it, not even that of key add-passphrase", file).
			Hint("with the exported key of its box, or the identity of another recipient: hermes-box %s %s --identity FILE",
				verb(cmd), shellescape.Quote(file))
	}
	if err != nil || !needs {
		return opens, err
	}
	secret, err := a.passphrase(cmd.Context(), "hermes-box "+verb(cmd)+" "+shellescape.Quote(file), stdin, false)
	if err != nil {
		return nil, err
	}
	with, err := age.NewScryptIdentity(secret)
	return append(opens, with), err
}

func imported(p *printer, got *ops.BackupImported) {
	p.line("%s backup %s: %s, %s; %s added on this disk", p.green("✓"), p.bold(got.ID), spell.Count(got.Entries, "file"), sizeText(got.Bytes), sizeText(got.Added))
	if got.Problems > 0 {
		p.line("%s it is partial: %s could not be read when it was made", p.yellow("!"), spell.Count(got.Problems, "file"))
	}
	if got.KeyMade != nil {
		p.line("  it is encrypted to the new key of this box, which is in %s", got.KeyMade.Where)
		keyWarning(p, ops.OldKeys)
	}
}

// keyWarning prints a warning about the key of the box.
func keyWarning(p *printer, w ops.Advised) {
	p.line("%s %s", p.yellow("!"), w.Warning)
	p.line("  %s", p.dim("→ "+w.Repair))
}

func (a *app) backupGet() *cobra.Command {
	to := "."
	cmd := &cobra.Command{
		Use: "get ID PATH...", Args: cobra.MinimumNArgs(2),
		Short: "copy files out of a backup to this machine",
		Long: `Copy files and directories out of a backup into a directory of this machine. The box is not touched and need not exist. A
PATH is as in the box, such as /workspace/notes.txt, or relative to /data. Every file is compared with its digest. Modes
and times are kept, owners are not. Nothing is replaced: if a name exists in the directory, nothing is copied.`,
		Example: "  hermes-box backup get 20261130T120000Z-first /workspace/notes --to /tmp",
		RunE: func(cmd *cobra.Command, args []string) error {
			a.readsOnly = true
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.warnOfClock(b, args[0])
			sink, end := a.sink()
			got, err := b.GetFiles(cmd.Context(), args[0], args[1:], to, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("backup get", got, func(p *printer) {
				p.line("%s %s, %s, from backup %s", p.green("✓"), spell.Count(got.Files, "file"), sizeText(got.Bytes), p.bold(got.ID))
				for _, path := range got.Paths {
					p.line("  %s", shellescape.Quote(path))
				}
				for _, path := range slices.Sorted(slices.Values(got.Skipped)) {
					p.line("%s not copied, since it is a socket, a pipe or a device: %s", p.yellow("!"), sanitize.Text(path))
				}
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", ".", "directory to copy into")
	return cmd
}
