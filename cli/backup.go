package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"hermes-box/internal/age"
	"hermes-box/internal/sanitize"
	"hermes-box/internal/spell"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/suspect"
	"hermes-box/tui"
)

func (a *app) backup() *cobra.Command {
	full, scheduled := false, false
	cmd := &cobra.Command{
		Use: "backup [LABEL]", GroupID: "box", Args: cobra.MaximumNArgs(1),
		Short: "make, list, verify and delete backups of the data disk",
		Long: `Make a backup of the data disk of the running box: everything in it but /data/cache, encrypted to the key of the
box. The backup is listed only after its new data was read back from the disk of this machine and compared with what the box sent.

The files are read from a snapshot of the disk, so programs in the box keep running; they wait for less than a second
while the snapshot is made. If no snapshot can be made, they cannot write until the copy is complete; the backup then
says so, and why. Later backups read only what has changed. After each backup the oldest ones are deleted; backup.keep
in the config says how many are kept.`,
		SuggestFor: []string{"save", "snapshot", "archive"},
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			label := ""
			if len(args) > 0 {
				label = args[0]
			}
			if verb := meantVerb(cmd, label); label != "" && verb != "" && verb[0] == label[0] { // not a label, but a mistyped verb
				return noSuchVerb(cmd, args)
			}
			sink, end := a.sink()
			if scheduled {
				made, run, err := b.BackupScheduled(cmd.Context(), label, sink)
				end()
				if err != nil {
					return err
				}
				return a.result("backup", run, func(p *printer) { backupRun(p, made, run) })
			}
			made, err := b.Backup(cmd.Context(), label, full, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("backup", made, func(p *printer) { backupMade(p, made) })
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "read every file again, and read the whole backup back")
	cmd.Flags().BoolVar(&scheduled, "scheduled", false, "for timers: make a backup only if backup.every says that one is due; status shows the result")
	cmd.MarkFlagsMutuallyExclusive("full", "scheduled")
	cmd.AddCommand(a.backupSchedule(), a.backupList(), a.backupImport())
	for _, of := range []*cobra.Command{a.backupDrill(), a.backupShow(), a.backupVerify(), a.backupDelete(), a.backupGet()} {
		cmd.AddCommand(a.completesBackup(of, cobra.ShellCompDirectiveNoFileComp))
	}
	cmd.AddCommand(a.completesBackup(a.backupExport(), cobra.ShellCompDirectiveDefault))
	return cmd
}

// warnOfClock prints a warning if the newest backup, which the user means by nothing or latest, may not be the right one.
func (a *app) warnOfClock(b *ops.Box, given string) {
	wrong := b.WrongClock(given)
	switch {
	case wrong == "":
	case a.events: // with --events every line of stderr is JSON
		json.NewEncoder(a.errs).Encode(ops.Event{Time: time.Now().UTC(), Kind: ops.Warning, Box: a.box, Line: wrong})
	default:
		fmt.Fprintf(a.errs, "%s %s\n", style{a.colored(a.errs)}.yellow("!"), a.shown(wrong))
	}
}

func backupMade(p *printer, made *ops.BackupMade) {
	p.line("%s backup %s: %s, %s; %s added on this disk", p.green("✓"), p.bold(made.ID), spell.Count(made.Entries, "file"), sizeText(made.Bytes), sizeText(made.Added))
	p.line("  programs in the box could not write for %s", tui.FrozenText(made))
	if made.Problems > 0 {
		p.line("%s it is partial: %s could not be read", p.yellow("!"), spell.Count(made.Problems, "file"))
	}
	for _, id := range made.Deleted {
		p.line("  deleted %s", id)
	}
	suspects(p, made.Suspects)
}

// suspects prints the MCP servers that the user should look at, and the settings that could not be checked.
func suspects(p *printer, found []suspect.Entry) {
	for _, e := range found {
		p.line("%s suspicious: %s", p.yellow("!"), sanitize.Text(e.String()))
	}
}

func sizeText(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func (a *app) backupList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: cobra.NoArgs, Aliases: []string{"ls"},
		Short: "list the backups of the box, newest first",
		RunE: func(*cobra.Command, []string) error {
			a.readsOnly = true
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.warnOfClock(b, ops.Latest)
			list, err := b.Backups()
			if err != nil {
				return err
			}
			rows := []listed{}
			for _, e := range list {
				rows = append(rows, listed{e, e.Damaged, e.Repairable})
			}
			return a.result("backup list", rows, func(p *printer) { backupRows(p, b, list) })
		},
	}
}

// listed is a backup in the JSON of backup list. If Damaged is set, only the id and the time are known.
type listed struct {
	backup.Envelope
	Damaged    string `json:"damaged,omitempty"`    // why the backup or its record cannot be used
	Repairable bool   `json:"repairable,omitempty"` // backup verify writes its record again
}

func backupRows(p *printer, b *ops.Box, list []backup.Envelope) {
	drills, _ := b.Drills() // on an error only the results of drills are missing
	switch {
	case len(list) > 0:
	case b.Record == nil || !b.Record.Ready:
		p.line("no backups, and no box; to create the box: hermes-box create; to bring back an exported backup: hermes-box backup import FILE")
	default:
		p.line("no backups; to make one: hermes-box backup")
	}
	for _, e := range list {
		state := p.green("✓") + " verified " + age.Format(time.Since(e.Verified)) + " ago"
		switch {
		case e.Repairable:
			p.line("%-36s %s %s; to write it again from the backup: hermes-box backup verify %s", e.ID, p.red("✗"), e.Damaged, e.ID)
			continue
		case e.Damaged != "":
			p.line("%-36s %s %s", e.ID, p.red("✗"), e.Damaged)
			continue
		case e.Failed != "":
			state = p.red("✗") + " " + e.Failed
		case e.Problems > 0:
			state += p.yellow("   partial: " + spell.Count(e.Problems, "file") + " could not be read")
		}
		if d := drills[e.ID]; d != nil && d.Good() {
			state += ", restored as a trial " + age.Format(time.Since(d.Ended)) + " ago"
		} else if d != nil {
			state += p.red(fmt.Sprintf("   a drill found differences: see %s", d.Report))
		}
		p.line("%-36s %9s %9s added   %s", e.ID, sizeText(e.Bytes), sizeText(e.Added), state)
	}
	lasts := b.Lasts(list)
	for _, e := range list {
		if lasts[e.ID] == 1 {
			p.line("  backup.keep is %d: the next backup deletes %s", b.Config.Backup.Keep, e.ID)
		}
	}
}

func (a *app) backupVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify [ID]", Args: cobra.MaximumNArgs(1),
		Short: "read a whole backup and compare each file with its digest",
		Long: `Read a whole backup from the disk, decrypt it, and compare each file with its digest. Without ID, the newest one is
read. If its record, the file ID.json, is damaged or missing, the record is written again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.warnOfClock(b, strings.Join(args, ""))
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			sink, end := a.sink()
			report, err := b.VerifyBackup(cmd.Context(), id, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("backup verify", report, func(p *printer) {
				p.line("%s backup %s is good: %s, %s, read in %s", p.green("✓"), p.bold(report.ID), spell.Count(report.Entries, "file"), sizeText(report.Bytes),
					age.Format(time.Duration(report.Seconds*float64(time.Second))))
				p.line("  digest %s", report.Digest)
				if report.Repaired != "" {
					p.line("%s its record could not be used, and was written again: %s", p.yellow("!"), report.Repaired)
				}
				if report.Artifacts > 0 {
					p.line("  software of its lock: %s, all good", spell.Count(report.Artifacts, "file"))
				}
				for _, missing := range report.Missing {
					p.line("%s software of its lock: %s; a restore has to fetch it", p.yellow("!"), missing)
				}
				for _, not := range report.NotChecked {
					p.line("  not checked: %s", not)
				}
			})
		},
	}
}

func (a *app) backupDelete() *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use: "delete ID", Args: cobra.ExactArgs(1), Aliases: []string{"rm"},
		Short: "delete a backup; the last good one of its data disk only with --force",
		Long: `Delete a backup, and the data that no other backup needs. If only one other good backup of the same data disk would be
left, all of that is read and compared first. The last good backup of a data disk is deleted only with --force, and so is a
damaged one from which files can still be read, if no other backup of its data disk is good.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.warnOfClock(b, args[0])
			sink, end := a.sink()
			id, err := b.DeleteBackup(cmd.Context(), args[0], force, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("backup delete", map[string]string{"id": id}, func(p *printer) { p.line("%s backup %s is deleted", p.green("✓"), p.bold(id)) })
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "delete it even if no other backup of its data disk is good")
	return cmd
}
