package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/tui/widget"
)

const (
	// unsaved is the age from which a box without a backup needs one.
	unsaved = 24 * time.Hour
	// oldBackup is the age from which the newest backup is shown as old.
	oldBackup = 7 * 24 * time.Hour
)

// lastGood returns the newest backup that was good when it was last checked; nil if there is none.
func (s *state) lastGood() *backup.Envelope {
	if i := slices.IndexFunc(s.known.Backups, func(e backup.Envelope) bool { return e.Good() }); i >= 0 {
		return &s.known.Backups[i]
	}
	return nil
}

// lacksBackup reports whether the box has no good backup and is old enough to need one.
func (s *state) lacksBackup(now time.Time) bool {
	created := s.known.Created
	return s.known.Ready && s.known.BackupsErr == nil && s.lastGood() == nil && !created.IsZero() && now.Sub(created) > unsaved
}

// noUsableKey is the trouble with backups whose key is lost or cannot be read.
const noUsableKey = "no usable key"

// backupTrouble returns what is wrong with the backups, for the header; empty if nothing is.
func (s *state) backupTrouble(now time.Time) string {
	switch {
	case s.known.BackupsErr != nil:
		return "backups unreadable"
	case s.status().Key != nil && s.hasBox():
		return noUsableKey
	case !s.backupFailed.IsZero() && (s.lastGood() == nil || s.lastGood().Time.Before(s.backupFailed)):
		return "backup failed"
	case s.scheduleProblem() != "" && s.status().Schedule.Last != nil && s.status().Schedule.Last.Failed != "":
		return "backup failed"
	case len(s.known.Backups) > 0 && !s.known.Backups[0].Good():
		return "backup damaged"
	case backup.WrongClock(s.known.Backups, now) != "":
		return "backup clock wrong"
	case s.lacksBackup(now):
		return "no backup"
	case s.scheduleProblem() != "":
		return "backup timer"
	}
	return ""
}

// scheduleProblem returns what is wrong with the scheduled backups, with the command that repairs it; empty if nothing
// is, or if no backups are scheduled.
func (s *state) scheduleProblem() string {
	timer := s.status().Schedule
	if timer == nil || timer.Problem == "" || !s.hasBox() {
		return ""
	}
	return timer.Problem + ": " + timer.Repair
}

// backupAge draws the age of the newest verified backup, or what is wrong with the backups; empty if a new box has none
// yet.
func (s *state) backupAge(p page) string {
	if trouble := s.backupTrouble(p.now); trouble != "" {
		return p.Warn.Render("! " + trouble)
	}
	e := s.lastGood()
	if e == nil {
		return ""
	}
	old := p.now.Sub(e.Time)
	text, _, _ := strings.Cut(age.Format(old), " ") // one unit is enough here
	if old < time.Minute {
		text = "now" // seconds would change with every frame
	}
	if old > oldBackup {
		return p.Warn.Render("backup " + text + " !")
	}
	return "backup " + text + " " + p.Good.Render("✓")
}

// bytesOf estimates the bytes that an operation moves, from the size of the last good backup; 0 if there is no
// estimate.
func (s *state) bytesOf(o ops.Operation) int64 {
	if e := s.lastGood(); e != nil && o.Name == "backup" {
		return e.Bytes
	}
	return 0
}

// newestText returns a line about the newest good backup, for the question before a box is destroyed.
func (m *model) newestText() string {
	if e := m.lastGood(); e != nil {
		text := "\nThe newest good backup is " + age.Format(m.now().Sub(e.Time)) + " old."
		if s := m.status().State; s == "stopped" || s == "absent" {
			text += " What has changed since is lost."
		}
		return text
	}
	return "\nThere is no good backup."
}

// keptText says how long a backup is kept.
func (s *state) keptText(e backup.Envelope) string {
	switch n := s.known.Lasts[e.ID]; n {
	case 0:
		return "until you delete it"
	case 1:
		return fmt.Sprintf("until the next one is made (backup.keep: %d)", s.known.Keep)
	default:
		return fmt.Sprintf("until %d more are made (backup.keep: %d)", n, s.known.Keep)
	}
}

// limitText says which backups the next one deletes, in at most w cells; empty if there is no box to back up.
func (s *state) limitText(w int) string {
	if !s.hasBox() {
		return ""
	}
	var out []backup.Envelope
	for _, e := range s.known.Backups {
		if s.known.Lasts[e.ID] == 1 {
			out = append(out, e)
		}
	}
	text := "the next backup deletes "
	switch len(out) {
	case 0:
		text += "none of these"
	case 1:
		text += "the one of " + out[0].Time.Local().Format(time.DateTime)
	default:
		text += fmt.Sprintf("%d of these", len(out))
	}
	if long := fmt.Sprintf("backup.keep is %d: %s", s.known.Keep, text); len(long) <= w {
		return long
	}
	return text
}

// drilledText says when and how a backup was last restored as a trial. good is false if a difference was found or the
// reports cannot be read.
func (s *state) drilledText(e backup.Envelope, now time.Time) (text string, good bool) {
	drill := s.known.Drills[e.ID]
	switch {
	case s.known.DrillsErr != nil:
		return "unknown: " + s.known.DrillsErr.Error(), false
	case drill == nil:
		return "not yet", true
	}
	into := "a box"
	if drill.Into == "files" {
		into = "a directory"
	}
	text = age.Format(now.Sub(drill.Ended)) + " ago, into " + into + ": "
	if drill.Good() {
		return text + "no difference", true
	}
	return text + widget.Count(drill.Different, "difference") + ", listed in " + drill.Report, false
}

// savedText says which backups of a box that does not exist are kept here. It continues a line that begins with
// "backups", and is empty if there are none.
func (s *state) savedText(now time.Time) string {
	all := s.known.Backups
	if len(all) == 0 {
		return ""
	}
	text := "of " + s.name() + " are kept on this machine"
	switch e := s.lastGood(); {
	case e == nil:
		text += ", but none of them is good"
	case len(all) == 1:
		text = "of " + s.name() + " are kept on this machine: one, made " + age.Format(now.Sub(e.Time)) + " ago"
	default:
		text += fmt.Sprintf(": %d, the newest good one made %s ago", len(all), age.Format(now.Sub(e.Time)))
	}
	return text + "."
}
