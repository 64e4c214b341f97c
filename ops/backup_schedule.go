package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"hermes-box/internal/age"
	"hermes-box/limactl"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
	"hermes-box/ops/schedule"
)

// Scheduled is the result of the last run of the timer, as the host keeps it.
type Scheduled struct {
	At      time.Time `json:"at"`
	Backup  string    `json:"backup,omitempty"`  // id of the backup that was made
	Skipped string    `json:"skipped,omitempty"` // why none was made, which is no failure
	Failed  string    `json:"failed,omitempty"`
}

// BackupSchedule is the state of the timer that makes backups.
type BackupSchedule struct {
	Every   string         `json:"every"` // backup.every in the config; "" if it has none
	Timer   schedule.State `json:"timer"`
	Last    *Scheduled     `json:"last,omitempty"`
	Note    string         `json:"note,omitempty"`    // why there can be no timer on this host
	Problem string         `json:"problem,omitempty"` // what is wrong with the timer or its backups; empty if nothing
	Repair  string         `json:"repair,omitempty"`  // a command
	Lingers bool           `json:"lingers"`           // the timer also runs while the user is not logged in
}

// job returns the timer of the box.
func (b *Box) job() (*schedule.Manager, schedule.Job, error) {
	m, err := schedule.System()
	if err != nil {
		return nil, schedule.Job{}, err
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	env := map[string]string{}
	for _, name := range []string{"PATH", "HERMES_BOX_LIMACTL", "DBUS_SESSION_BUS_ADDRESS"} {
		if value := os.Getenv(name); value != "" {
			env[name] = value
		}
	}
	// Without a period in the config, the job only serves to find the timer by its name.
	every := cmp.Or(b.Config.Backup.Every, 24*time.Hour)
	return m, schedule.Job{Box: b.Name(), Every: every, Program: program, Config: b.Config.Path, Home: b.Dir, Env: env}, err
}

// ScheduleOn installs the timer that makes a backup as often as backup.every in the config says.
func (b *Box) ScheduleOn(ctx context.Context) (*BackupSchedule, error) {
	if b.Config.Backup.Every == 0 {
		return nil, fault.New(fault.InvalidInput, "the config does not say how often to make a backup").
			Hint("add it to %s, as in: backup: {keep: %d, every: 6h}", b.Config.Path, b.Config.Backup.Keep)
	}
	if err := b.exists(); err != nil {
		return nil, err
	}
	if b.NoTimer != "" {
		return nil, fault.New(fault.PreflightFailed, "no timer is installed, since %s; for a real box, a timer of this user (systemd, or launchd on macOS) would now make a backup every %s",
			b.NoTimer, schedule.PeriodName(b.Config.Backup.Every)).
			Hint("to make a backup as the timer would: hermes-box backup --scheduled")
	}
	m, job, err := b.job()
	if err != nil {
		return nil, err
	}
	if err := m.On(ctx, job); err != nil {
		return nil, fault.New(fault.ExternalFailed, "the timer cannot be installed: %w", err).
			Hint("without one, run this from cron: hermes-box backup --scheduled")
	}
	// The first backup is expected within a period from now.
	if err := b.Home.SaveScheduled(b.Name(), Scheduled{At: time.Now().UTC(), Skipped: "the timer was installed"}); err != nil {
		return nil, err
	}
	return b.ScheduleStatus(), nil
}

// ScheduleStatus is like Schedule, but also finds out whether the timer needs the user to be logged in.
func (b *Box) ScheduleStatus() *BackupSchedule {
	s := b.Schedule(time.Now())
	if m, err := schedule.System(); err == nil {
		if u, err := user.Current(); err == nil {
			s.Lingers = m.Lingers(u.Username)
		}
	}
	return s
}

// timerOff removes the timer of a box that is destroyed, if it has one.
func (b *Box) timerOff(ctx context.Context, p *Progress) {
	if b.NoTimer != "" {
		return
	}
	m, job, err := b.job()
	if err != nil || m.State(job) == schedule.Off {
		return
	}
	if err := m.Off(ctx, job); err != nil {
		p.Warn("the timer that made backups could not be removed: " + err.Error())
	}
}

// ScheduleOff removes the timer.
func (b *Box) ScheduleOff(ctx context.Context) (*BackupSchedule, error) {
	if b.NoTimer != "" {
		return b.ScheduleStatus(), nil
	}
	m, job, err := b.job()
	if err != nil {
		return nil, err
	}
	if err := m.Off(ctx, job); err != nil {
		return nil, fault.New(fault.ExternalFailed, "the timer cannot be removed: %w", err)
	}
	if err := b.Home.RemoveScheduled(b.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) { // without a box there may be no directory
		return nil, err
	}
	s := b.ScheduleStatus()
	if s.Timer == schedule.Off { // the user asked for this, so it is no problem here; status shows it as one if backup.every is set
		s.Problem, s.Repair = "", ""
	}
	return s, nil
}

// Schedule returns the state of the timer. It reads files only.
func (b *Box) Schedule(now time.Time) *BackupSchedule {
	s := &BackupSchedule{Every: schedule.PeriodName(b.Config.Backup.Every), Timer: schedule.Off}
	if b.NoTimer != "" {
		s.Timer, s.Note = schedule.None, b.NoTimer
	} else if m, job, err := b.job(); err == nil {
		s.Timer = m.State(job)
	}
	var last Scheduled
	if err := b.Home.Scheduled(b.Name(), &last); err == nil {
		s.Last = &last
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.Problem, s.Repair = err.Error(), "hermes-box backup schedule on"
		return s
	}
	s.judge(b.newestGood(), b.Config.Backup.Every, now)
	return s
}

// newestGood returns the time of the newest good backup; zero if there is none.
func (b *Box) newestGood() time.Time {
	if e, _ := b.kept(); e != nil { // an error of the list is reported by the next backup
		return e.Time
	}
	return time.Time{}
}

// judge sets Problem and Repair: if the timer does not fit the config, if the last scheduled backup failed, if the
// timer did not run for one and a half periods, or if it ran, but no good backup is newer than that.
func (s *BackupSchedule) judge(newest time.Time, every time.Duration, now time.Time) {
	switch {
	case every == 0 && s.Timer == schedule.Off:
		return
	case s.Timer == schedule.None:
		if s.Last != nil && s.Last.Failed != "" && newest.Before(s.Last.At) {
			s.Problem, s.Repair = fmt.Sprintf("the scheduled backup failed %s ago: %s", age.Format(now.Sub(s.Last.At)), s.Last.Failed), "hermes-box backup"
		}
	case every == 0:
		s.Problem, s.Repair = "a timer makes backups, but the config has no backup.every", "hermes-box backup schedule off"
	case s.Timer == schedule.Off:
		s.Problem, s.Repair = "backup.every is "+s.Every+", but no timer is installed", "hermes-box backup schedule on"
	case s.Timer == schedule.Outdated:
		s.Problem, s.Repair = "the timer that makes backups was installed for another config or program", "hermes-box backup schedule on"
	case s.Last != nil && s.Last.Failed != "" && newest.Before(s.Last.At):
		s.Problem, s.Repair = fmt.Sprintf("the scheduled backup failed %s ago: %s", age.Format(now.Sub(s.Last.At)), s.Last.Failed), "hermes-box backup"
	case s.Last != nil && now.Sub(s.Last.At) > every*3/2:
		s.Problem, s.Repair = fmt.Sprintf("the timer last ran %s ago, although backup.every is %s", age.Format(now.Sub(s.Last.At)), s.Every), "hermes-box backup schedule on"
	case s.Last != nil && s.Last.Skipped == "" && now.Sub(newest) > every*3/2:
		s.Problem, s.Repair = "there is no good backup", "hermes-box backup"
		if !newest.IsZero() {
			s.Problem = fmt.Sprintf("the newest good backup is %s old, although backup.every is %s", age.Format(now.Sub(newest)), s.Every)
		}
	}
}

// early is how much too early a scheduled backup may be made, because timers are not exact. A backup is due
// backup.every after the newest good one.
const early = 10 * time.Minute

// BackupScheduled is Backup as a timer runs it: it makes a backup only if the newest one is as old as backup.every says,
// does not let the keyring ask for a password, and records the result for status. It skips a box that does not exist,
// does not run or is being changed. The *BackupMade is nil if no backup was made.
func (b *Box) BackupScheduled(ctx context.Context, label string, sink Sink) (*BackupMade, *Scheduled, error) {
	if err := checkLabel(label); err != nil {
		return nil, nil, err
	}
	run := &Scheduled{At: time.Now().UTC()}
	var made *BackupMade
	var err error
	if run.Skipped = b.whyNoBackup(run.At); run.Skipped == "" {
		made, err = b.Backup(keys.Silent(ctx), cmp.Or(label, "scheduled"), false, sink)
		switch {
		case fault.CodeOf(err) == fault.Busy: // the next run makes it
			run.Skipped, err = err.Error(), nil
		case err != nil:
			run.Failed = err.Error()
		default:
			run.Backup = made.ID
		}
	}
	if b.Record == nil || ctx.Err() != nil && err != nil { // an interrupted backup is not recorded
		return nil, run, err
	}
	return made, run, errors.Join(err, b.Home.SaveScheduled(b.Name(), run))
}

// whyNoBackup returns the reason not to make a scheduled backup now; "" if there is none.
func (b *Box) whyNoBackup(now time.Time) string {
	if b.Record == nil || !b.Record.Ready {
		return "there is no box"
	}
	if state := b.Lima.Peek(b.Record.Instance); state == limactl.Stopped || state == limactl.Absent {
		return "the box is " + string(state)
	}
	if newest := b.newestGood(); !due(newest, b.Config.Backup.Every, now) {
		return "the newest good backup is only " + age.Format(now.Sub(newest)) + " old"
	}
	return ""
}

// due reports whether a scheduled backup is made now. A newest backup more than a minute in the future was made before
// the clock was put back: how old it is, is not known, so the next one is due. Of several backups within a few seconds,
// the last may be a little in the future, because no two have the same time.
func due(newest time.Time, every time.Duration, now time.Time) bool {
	return now.Sub(newest) >= every-early || newest.After(now.Add(time.Minute))
}
