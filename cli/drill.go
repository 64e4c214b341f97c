package cli

import (
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"hermes-box/internal/age"
	"hermes-box/internal/sanitize"
	"hermes-box/internal/spell"
	"hermes-box/ops"
)

func (a *app) backupDrill() *cobra.Command {
	files := false
	cmd := &cobra.Command{
		Use: "drill [ID]", Args: cobra.MaximumNArgs(1),
		Short: "restore a backup as a trial, compare the copy, and remove it",
		Long: `Restore a backup as a trial, compare the copy with the backup, and remove the copy. Without ID, the newest backup is
restored. The box and the backup are not changed, and the box need not run. A report says what was compared.

The backup is restored into a throw-away box with its own name and ports. The data disk of that box is compared with the
backup. Then the software is installed and started. The throw-away box has no network, so that it cannot use the logins in
the backup.

With --files the backup is restored into a private directory of this machine, which is faster and needs no VM. Owners and
extended attributes are then not compared. Until the drill ends, the files are unencrypted on the disk of this machine;
only this user can read them. If the drill is killed, the next
command that changes the box removes them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.warnOfClock(b, strings.Join(args, ""))
			sink, end := a.sink()
			drill := b.DrillBox
			if files {
				drill = b.DrillFiles
			}
			b.Mirrors = append(b.Mirrors, a.mirrors...)
			done, err := drill(cmd.Context(), strings.Join(args, ""), sink)
			end()
			if err != nil {
				return err
			}
			return a.result("backup drill", done, func(p *printer) { drilled(p, done) })
		},
	}
	cmd.Flags().BoolVar(&files, "files", false, "restore into a directory of this machine instead of a throw-away box")
	cmd.Flags().StringArrayVar(&a.mirrors, "mirror", nil, "directory or base URL to ask first for artifacts, by digest")
	return cmd
}

func drilled(p *printer, done *ops.Drill) {
	p.line("%s backup %s can be restored: %s, %s, no difference, in %s", p.green("✓"), p.bold(done.Backup), spell.Count(done.Entries, "file"), sizeText(done.Bytes),
		age.Format(done.Ended.Sub(done.Begun)))
	p.line("  compared: %s", strings.Join(done.Compared, ", "))
	p.line("  digest of what was compared: %s", done.Found)
	for _, c := range done.Software {
		p.line("  without a network: %s %s", c.Name, p.state(c.State))
	}
	if done.Problem != "" {
		p.line("%s without a network: %s", p.yellow("!"), sanitize.Text(done.Problem))
	}
	for _, not := range done.NotCompared {
		p.line("  not compared: %s", sanitize.Text(not))
	}
	if done.Missing > 0 {
		p.line("%s the backup is partial: %s could not be read when it was made", p.yellow("!"), spell.Count(done.Missing, "file"))
	}
	p.line("  report: %s", shellescape.Quote(done.Report))
}
