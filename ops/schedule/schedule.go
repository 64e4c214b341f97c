// Package schedule has the timers that make backups: a systemd user timer on Linux, a launchd agent on macOS. Both are
// files of the user, and both run later if the machine was off or asleep at the time of a backup.
package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Job is the regular backup of one box.
type Job struct {
	Box     string
	Every   time.Duration     // one of Periods
	Program string            // absolute path of this program
	Config  string            // absolute path of the config of the box
	Home    string            // HERMES_BOX_HOME
	Env     map[string]string // more environment variables, such as PATH
}

// Periods are the possible times between two scheduled backups, by the names that they have in a config. Timers run
// at times of the day or on a day of the week, so each period divides a day or is a week.
var Periods = map[string]time.Duration{
	"1h": time.Hour, "2h": 2 * time.Hour, "3h": 3 * time.Hour, "4h": 4 * time.Hour, "6h": 6 * time.Hour, "8h": 8 * time.Hour,
	"12h": 12 * time.Hour, "1d": 24 * time.Hour, "7d": 7 * 24 * time.Hour,
}

// PeriodName returns the name of a period; "" if it is not one of Periods.
func PeriodName(every time.Duration) string {
	for name, d := range Periods {
		if d == every {
			return name
		}
	}
	return ""
}

// PeriodNames lists the names of all periods, the shortest first.
func PeriodNames() (names []string) {
	for name := range Periods {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return int(Periods[a]/time.Hour) - int(Periods[b]/time.Hour) })
	return names
}

// hash tells boxes of the same name apart: those of another config, or of another state directory.
func (j Job) hash() [sha256.Size]byte { return sha256.Sum256([]byte(j.Home + "\x00" + j.Config)) }

// Name returns the name of the timer: hermes-box-<box>-<hash>.
func (j Job) Name() string {
	sum := j.hash()
	return "hermes-box-" + j.Box + "-" + hex.EncodeToString(sum[:4])
}

// minute returns the minute of the hour at which the backup is made. It differs between boxes, so that their backups do
// not all begin at the same time.
func (j Job) minute() int { return int(j.hash()[4]) % 60 }

// hours returns the hours of the day at which the backup is made.
func (j Job) hours() (hours []int) {
	if j.Every >= 24*time.Hour {
		return []int{12}
	}
	for at := time.Duration(0); at < 24*time.Hour; at += j.Every {
		hours = append(hours, int(at/time.Hour))
	}
	return hours
}

// weekly reports whether the backup is made once a week, on Mondays.
func (j Job) weekly() bool { return j.Every == 7*24*time.Hour }

// arguments returns the command of the timer, without the program.
func (j Job) arguments() []string {
	return []string{"--config", j.Config, "backup", "--scheduled", "--quiet"}
}

// environment returns the variables of the command as NAME=value, sorted.
func (j Job) environment() (all []string) {
	all = append(all, "HERMES_BOX_HOME="+j.Home)
	for name, value := range j.Env {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

// check returns an error for a job that a timer cannot run.
func (j Job) check() error {
	if PeriodName(j.Every) == "" {
		return fmt.Errorf("a timer cannot run every %s", j.Every)
	}
	for _, text := range append(j.environment(), j.Program, j.Config) {
		if strings.ContainsAny(text, "\x00\n\r") {
			return fmt.Errorf("a timer cannot have a line break in a path: %q", text)
		}
	}
	return nil
}
