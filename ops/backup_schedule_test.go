package ops

import (
	"strings"
	"testing"
	"time"

	"hermes-box/ops/schedule"
)

// A timer that is missing, fails or is late is a problem with a command that repairs it. A missing timer
// that the config does not ask for, and a late backup of a stopped box, are not problems.
func TestScheduleProblems(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	run := func(d time.Duration, skipped, failed string) *Scheduled {
		return &Scheduled{At: ago(d), Skipped: skipped, Failed: failed}
	}
	for name, c := range map[string]struct {
		every          time.Duration
		timer          schedule.State
		last           *Scheduled
		newest         time.Time
		problem, parts string
	}{
		"not wanted":            {0, schedule.Off, nil, time.Time{}, "", ""},
		"left over":             {0, schedule.Outdated, nil, time.Time{}, "no backup.every", "schedule off"},
		"not installed":         {6 * time.Hour, schedule.Off, nil, ago(time.Hour), "no timer is installed", "schedule on"},
		"for another period":    {6 * time.Hour, schedule.Outdated, nil, ago(time.Hour), "another config", "schedule on"},
		"good":                  {6 * time.Hour, schedule.On, run(time.Hour, "", ""), ago(time.Hour), "", ""},
		"installed just now":    {6 * time.Hour, schedule.On, run(time.Minute, "the timer was installed", ""), time.Time{}, "", ""},
		"never ran":             {6 * time.Hour, schedule.On, run(10*time.Hour, "the timer was installed", ""), ago(time.Hour), "last ran 10h ago", "schedule on"},
		"a little late":         {6 * time.Hour, schedule.On, run(8*time.Hour, "", ""), ago(8 * time.Hour), "", ""},
		"late":                  {6 * time.Hour, schedule.On, run(9*time.Hour+time.Second, "", ""), ago(9 * time.Hour), "last ran 9h ago, although backup.every is 6h", "schedule on"},
		"failed":                {6 * time.Hour, schedule.On, run(2*time.Hour, "", "the keyring is locked"), ago(8 * time.Hour), "failed 2h ago: the keyring is locked", "hermes-box backup"},
		"failed, newer success": {6 * time.Hour, schedule.On, run(2*time.Hour, "", "the keyring is locked"), ago(time.Hour), "", ""},
		"failed, no backups":    {6 * time.Hour, schedule.On, run(time.Minute, "", "no space"), time.Time{}, "failed 1m ago: no space", "hermes-box backup"},
		"box is stopped":        {6 * time.Hour, schedule.On, run(time.Hour, "the box is stopped", ""), ago(90 * time.Hour), "", ""},
		"damaged since":         {6 * time.Hour, schedule.On, run(time.Hour, "", ""), ago(20 * time.Hour), "the newest good backup is 20h old", "hermes-box backup"},
		"all damaged":           {6 * time.Hour, schedule.On, run(time.Hour, "", ""), time.Time{}, "there is no good backup", "hermes-box backup"},
		"weekly, late":          {7 * 24 * time.Hour, schedule.On, run(11*24*time.Hour, "", ""), ago(11 * 24 * time.Hour), "last ran 11d ago", "schedule on"},
	} {
		s := &BackupSchedule{Every: schedule.PeriodName(c.every), Timer: c.timer, Last: c.last}
		s.judge(c.newest, c.every, now)
		if (s.Problem == "") != (c.problem == "") || !strings.Contains(s.Problem, c.problem) || !strings.Contains(s.Repair, c.parts) || (s.Problem == "") != (s.Repair == "") {
			t.Errorf("%s: %q, %q; want %q, %q", name, s.Problem, s.Repair, c.problem, c.parts)
		}
	}
}

// A scheduled backup is due backup.every after the newest one, at most ten minutes too early. A newest backup in the
// future delays none.
func TestScheduledBackupIsDue(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		every  time.Duration
		newest time.Time
		want   bool
	}{
		"none":                  {6 * time.Hour, time.Time{}, true},
		"just made":             {6 * time.Hour, now, false},
		"made 5h49m ago":        {6 * time.Hour, now.Add(-5*time.Hour - 49*time.Minute), false},
		"made 5h50m ago":        {6 * time.Hour, now.Add(-5*time.Hour - 50*time.Minute), true},
		"seconds in the future": {6 * time.Hour, now.Add(3 * time.Second), false},
		"minutes in the future": {6 * time.Hour, now.Add(2 * time.Minute), true},
		"a year in the future":  {6 * time.Hour, now.AddDate(1, 0, 0), true},
		"no period":             {0, now, true},
	} {
		if got := due(c.newest, c.every, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
