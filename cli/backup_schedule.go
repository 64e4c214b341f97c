package cli

import (
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/ops/schedule"
)

func (a *app) backupSchedule() *cobra.Command {
	verbs := []string{"on", "off", "status"}
	return &cobra.Command{
		Use: "schedule on|off|status", Args: cobra.ExactArgs(1), ValidArgs: verbs,
		Short: "make backups by a timer, as often as backup.every in the config says",
		Long: `Install the timer (on), remove it (off), or show it and its last run (status). The timer makes backups as often as
backup.every in the config says. It is a systemd timer of this user on Linux, and a launchd agent on macOS. If this machine
was off when a backup was due, the backup is made when the machine is on again.

The timer makes no backup of a box that does not run. It cannot ask for the password of a keyring: if the key is in a
keyring that is locked, the backup fails. hermes-box status says if the last scheduled backup failed, or if none was made
for too long.`,
		Example: "  hermes-box backup schedule on\n  hermes-box backup schedule status",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "verb", args[0], verbs); err != nil {
				return err
			}
			b, err := a.openBox()
			if err != nil {
				return err
			}
			var s *ops.BackupSchedule
			switch args[0] {
			case "on":
				s, err = b.ScheduleOn(cmd.Context())
			case "off":
				s, err = b.ScheduleOff(cmd.Context())
			default:
				s = b.ScheduleStatus()
			}
			if err != nil {
				return err
			}
			return a.result("backup schedule", s, func(p *printer) { scheduleText(p, s, time.Now()) })
		},
	}
}

func scheduleText(p *printer, s *ops.BackupSchedule, now time.Time) {
	every := s.Every
	if every == "" {
		every = "not set in the config"
	}
	p.line("%-12s %s", "every:", every)
	timer := string(s.Timer)
	if s.Note != "" {
		timer += ": " + s.Note
	}
	p.line("%-12s %s", "timer:", timer)
	if s.Last != nil {
		result := "made " + s.Last.Backup
		switch {
		case s.Last.Failed != "":
			result = p.red("✗") + " " + s.Last.Failed
		case s.Last.Skipped != "":
			result = "no backup was made, since " + s.Last.Skipped
		}
		p.line("%-12s %s ago: %s", "last run:", age.Format(now.Sub(s.Last.At)), result)
	}
	if s.Timer == schedule.On && !s.Lingers {
		p.line("%s the timer runs only while you are logged in", p.yellow("!"))
		if runtime.GOOS == "linux" {
			p.line("  %s", p.dim("→ loginctl enable-linger"))
		}
	}
	scheduleProblem(p, s)
}

// scheduleProblem prints what is wrong with the timer or its backups, if anything, and the command that repairs it.
func scheduleProblem(p *printer, s *ops.BackupSchedule) {
	if s != nil && s.Problem != "" {
		p.line("%s %s", p.yellow("!"), s.Problem)
		p.line("  %s", p.dim("→ "+s.Repair))
	}
}

// backupRun prints the result of a scheduled backup.
func backupRun(p *printer, made *ops.BackupMade, run *ops.Scheduled) {
	if made == nil {
		p.line("no backup was made, since %s", run.Skipped)
		return
	}
	backupMade(p, made)
}
