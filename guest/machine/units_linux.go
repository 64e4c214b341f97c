package machine

import (
	"context"
	"errors"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"
)

const (
	unitTimeout = 7 * time.Minute // of one systemctl command; the limits in the unit files are shorter
	logTimeout  = 5 * time.Second
)

// journalGroup is the group whose members may read the system's log.
const journalGroup = "systemd-journal"

func (m *Machine) systemctl(ctx context.Context, args ...string) ([]byte, error) {
	return m.Run(ctx, Cmd{Path: "systemctl", Args: append([]string{"--no-ask-password"}, args...), Timeout: unitTimeout})
}

// ReloadUnits makes systemd read its unit files again.
func (m *Machine) ReloadUnits(ctx context.Context) error {
	_, err := m.systemctl(ctx, "daemon-reload")
	return err
}

// EnableUnit makes a unit start at the next boot. systemd notices it at the next ReloadUnits.
func (m *Machine) EnableUnit(ctx context.Context, unit string) error {
	_, err := m.systemctl(ctx, "enable", "--no-reload", "--quiet", unit)
	return err
}

// StartUnit starts a unit and waits for the job. A failed start is an error.
func (m *Machine) StartUnit(ctx context.Context, unit string) error { return m.job(ctx, "start", unit) }

// RestartUnit restarts a unit and waits for the job.
func (m *Machine) RestartUnit(ctx context.Context, unit string) error {
	return m.job(ctx, "restart", unit)
}

// StopUnit stops a unit and waits for the job.
func (m *Machine) StopUnit(ctx context.Context, unit string) error {
	_, err := m.systemctl(ctx, "stop", unit)
	return err
}

// job starts or restarts a unit, even one that systemd has given up on. Its error has the last lines of the unit's
// log, which systemctl does not print.
func (m *Machine) job(ctx context.Context, verb, unit string) error {
	// reset-failed fails for a unit that was never loaded; then there is nothing to reset.
	_, _ = m.systemctl(ctx, "reset-failed", unit)
	_, err := m.systemctl(ctx, verb, unit)
	var exit *ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		exit.Output = lastLines([]byte(exit.Output + "\n" + m.UnitLog(ctx, unit)))
	}
	return err
}

// UnitLog returns the last lines of a unit's log; empty if they cannot be read. Root and members of the group
// systemd-journal may read the log. For other users, UnitLog runs journalctl through sudo.
func (m *Machine) UnitLog(ctx context.Context, unit string) string {
	c := Cmd{Path: "journalctl", Args: []string{"--unit=" + unit, "--lines=15", "--output=cat", "--no-pager", "--quiet"}, Timeout: logTimeout}
	if os.Geteuid() != 0 && !inGroup(journalGroup) {
		c.Path, c.Args = "sudo", append([]string{"-n", c.Path}, c.Args...)
	}
	out, err := m.Run(ctx, c)
	if err != nil {
		return ""
	}
	return lastLines(out)
}

// inGroup reports whether this process is in a group.
func inGroup(name string) bool {
	g, err := user.LookupGroup(name)
	if err != nil {
		return false
	}
	id, err := strconv.Atoi(g.Gid)
	if err != nil {
		return false
	}
	ids, err := os.Getgroups()
	return err == nil && slices.Contains(ids, id)
}
