package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
	"hermes-box/ops/backup"
)

// The header shows the age of the newest verified backup, or what is wrong, and the suggestions offer the remedy.
func TestBackupInTheHeader(t *testing.T) {
	young := withBackups()
	young.known.Created = noon.Add(-time.Hour)
	unreadable := withBackups()
	unreadable.known.BackupsErr = errors.New("permission denied")
	for _, c := range []struct {
		name, shows, offers string
		box                 *fake
	}{
		{"fresh", "backup 2h ✓", "", withBackups(envelope(2*time.Hour+13*time.Minute, ""))},
		{"partial", "backup 1d ✓", "", withBackups(someBackups()[1])},
		{"old", "backup 8d !", "", withBackups(envelope(8*24*time.Hour+time.Hour, ""))},
		{"damaged", "! backup damaged", "look at the backups", withBackups(someBackups()[2:]...)},
		{"none", "! no backup", "make the first backup", withBackups()},
		{"failed by the timer", "! backup failed", "make the backup that failed", timed(&ops.BackupSchedule{Every: "6h", Problem: "the scheduled backup failed 1h ago: no space", Last: &ops.Scheduled{Failed: "no space"}})},
		{"no timer", "! backup timer", "look at the backups", timed(&ops.BackupSchedule{Every: "6h", Problem: "no timer is installed", Repair: "hermes-box backup schedule on"})},
		{"a timer that works", "backup 2h ✓", "", timed(&ops.BackupSchedule{Every: "6h"})},
		{"a new box without a backup", "", "", young},
		{"a lost key", "! no usable key", "repair the key of the backups", keyless(runningStatus())},
		{"a lost key of a stopped box", "! no usable key", "", keyless(off("stopped"))},
		{"unreadable", "! backups unreadable", "look at the backups", unreadable},
	} {
		m := on(c.box)
		s := screen(m)
		head, _, _ := strings.Cut(s, "\n")
		if !strings.Contains(head, c.shows) || c.shows == "" && strings.Contains(head, "backup") || c.offers != "" && !strings.Contains(s, "1 "+c.offers) {
			t.Errorf("%s:\n%s", c.name, s)
		}
	}
}

// A backup that failed is shown in the header until one succeeds.
func TestFailedBackupInTheHeader(t *testing.T) {
	f := withBackups(envelope(2*time.Hour, ""))
	end := held(f)
	m := on(f)
	now := noon
	m.now = func() time.Time { return now }
	for _, err := range []error{errors.New("no space left on device"), nil} {
		if press(m, "b"); m.own == nil {
			t.Fatal(screen(m))
		}
		end <- err
		settle(t, m)
		now = now.Add(time.Minute) // keys that are typed too early are ignored
		press(m, "esc")
		head, _, _ := strings.Cut(screen(m), "\n")
		if strings.Contains(head, "! backup failed") != (err != nil) {
			t.Errorf("after %v: %s", err, head)
		}
	}
}

// A backup that another process has made after a failed one removes the failure from the header.
func TestLaterBackupReplacesAFailure(t *testing.T) {
	f := withBackups(envelope(2*time.Hour, ""))
	m := on(f)
	m.backupFailed = noon.Add(-time.Hour)
	if s := screen(m); !strings.Contains(s, "! backup failed") {
		t.Error(s)
	}
	f.known.Backups = []backup.Envelope{envelope(time.Minute, ""), envelope(2*time.Hour, "")}
	drain(m, m.readFiles())
	if s := screen(m); !strings.Contains(s, "backup 1m ✓") {
		t.Error(s)
	}
}

// A box can be restored without a lock, but not on a machine that lacks something else.
func TestInvitationToRestore(t *testing.T) {
	lock := ops.Check{ID: "lock", Title: "lock file", Verdict: ops.Fail}
	for _, c := range []struct {
		checks []ops.Check
		want   bool
	}{{healthyHost(), true}, {[]ops.Check{lock}, true}, {append(lackingHost(), lock), false}} {
		m := on(noBoxWith(someBackups()...))
		m.first.checks.all = c.checks
		if s := screen(m); strings.Contains(s, "B restore it from a backup") != c.want {
			t.Errorf("want %v:\n%s", c.want, s)
		}
	}
}
