package cli

import (
	"context"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
)

func (a *app) key() *cobra.Command {
	cmd := &cobra.Command{
		Use: "key", GroupID: "box",
		Short: "show, export, import and share the key that opens the backups",
		Long: `Show, export, import and share the key that opens the backups of the box.

create makes an age identity for each box and puts it into the keychain of macOS or the keyring of a Linux desktop or, if
there is none, into a file of mode 0600. Backups are encrypted to it: without it they are lost, unless another
recipient or a passphrase opens them.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.keyStatus(), a.keyExport(), a.keyImport(), a.keyAddRecipient(), a.keyRemoveRecipient(), a.keyAddPassphrase(), a.keyRemovePassphrase(), a.keyMake())
	return cmd
}

func (a *app) keyStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Args: cobra.NoArgs,
		Short: "show where the key is, who can open the backups, and what is missing",
		Long: `Show where the identity of the box is, who can open the backups, and what to do so that the backups can still be opened
if this machine is lost. No secret is shown. A locked keyring asks for its password. The exit status is 1 if the key cannot be read,
or opens no backup here.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			over := a.meanwhile("asking the keyring")
			status, err := b.KeyStatus(cmd.Context(), false)
			over()
			if err != nil {
				return err
			}
			if status.Problem == "" || !a.json {
				err = a.result("key status", status, func(p *printer) { keyStatusText(p, status) })
			}
			if err == nil && status.Problem != "" {
				err = fault.New(fault.HealthFailed, "the key of box %q is of no use here: %s", b.Name(), status.Problem).
					Hint("%s", status.Repair).Detail("key", status)
			}
			return err
		},
	}
}

func keyStatusText(p *printer, s *ops.KeyStatus) {
	p.line("%-12s %s", "key:", s.Where)
	p.line("%-12s %s", "recipient:", s.Recipient)
	p.line("%-12s %s", "made:", day(s.Created))
	exported, passphrase := "never", "none"
	if s.Exported != nil {
		exported = day(*s.Exported)
	}
	p.line("%-12s %s", "exported:", exported)
	if s.Passphrase {
		passphrase = "set: it opens the backups here and copies of them, but no exported file"
	}
	p.line("%-12s %s", "passphrase:", passphrase)
	for _, r := range s.Others {
		p.line("%-12s %s", "also opens:", recipientLine(r))
	}
	for _, w := range s.Warnings {
		p.line("%s %s", p.yellow("!"), w.Warning)
		p.line("  %s", p.dim("→ "+w.Repair))
	}
}

// who returns the name of a recipient, if it has one, and its public key.
func who(r backup.Recipient) string { return strings.TrimSpace(r.Name + " " + r.Recipient) }

// recipientLine returns a recipient in one line.
func recipientLine(r backup.Recipient) string {
	proven := "its identity was checked"
	if !r.Proven {
		proven = "its identity was never checked"
	}
	return who(r) + ", since " + day(r.Since) + ", " + proven
}

func day(t time.Time) string { return t.Local().Format(time.DateOnly) }

func (a *app) keyExport() *cobra.Command {
	return &cobra.Command{
		Use: "export FILE", Args: cobra.ExactArgs(1),
		Short: "write the identity of the box into a new file, for another machine",
		Long: `Write the identity of the box into a new file of mode 0600, in the format of age. It opens the backups on any machine:
with --identity FILE, or with age itself. An existing file is never replaced, and the identity is never printed.`,
		Example: "  hermes-box key export /media/stick/main.age-identity",
		RunE: func(cmd *cobra.Command, args []string) error {
			return onKey(cmd.Context(), a, "key export", func(b *ops.Box, sink ops.Sink) (*ops.KeyExported, error) {
				return b.ExportKey(cmd.Context(), args[0], sink)
			}, func(p *printer, b *ops.Box, done *ops.KeyExported) {
				p.line("%s the identity of box %s is in %s", p.green("✓"), p.bold(b.Name()), shellescape.Quote(done.Path))
				p.line("Whoever has this file can read the backups. Keep it away from this machine: on a stick in a drawer, or in a")
				p.line("password manager; then remove it here. It opens the backups on any machine.")
			})
		},
	}
}

// onKey runs an operation on the key of the box and prints its result.
func onKey[R any](ctx context.Context, a *app, command string, do func(*ops.Box, ops.Sink) (R, error), show func(*printer, *ops.Box, R)) error {
	b, err := a.openBox()
	if err != nil {
		return err
	}
	sink, end := a.sink()
	done, err := do(b, sink)
	end()
	if err != nil {
		return err
	}
	return a.result(command, done, func(p *printer) { show(p, b, done) })
}
