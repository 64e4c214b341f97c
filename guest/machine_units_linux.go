package guest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// unitTimeout bounds one systemd job; the units' own limits are shorter.
const unitTimeout = 7 * time.Minute

func (m *machine) systemctl(ctx context.Context, args ...string) ([]byte, error) {
	return m.Run(ctx, Cmd{Path: "systemctl", Args: append([]string{"--no-ask-password"}, args...), Timeout: unitTimeout})
}

func (m *machine) ReloadUnits(ctx context.Context) error {
	_, err := m.systemctl(ctx, "daemon-reload")
	return err
}

func (m *machine) EnableUnit(ctx context.Context, unit string) error {
	_, err := m.systemctl(ctx, "enable", "--no-reload", "--quiet", unit)
	return err
}

func (m *machine) StartUnit(ctx context.Context, unit string) error { return m.job(ctx, "start", unit) }

func (m *machine) RestartUnit(ctx context.Context, unit string) error {
	return m.job(ctx, "restart", unit)
}

func (m *machine) StopUnit(ctx context.Context, unit string) error {
	_, err := m.systemctl(ctx, "stop", unit)
	return err
}

// job starts or restarts a unit, also one that systemd has given up on; a failure carries the unit's own last
// words, which systemctl does not tell.
func (m *machine) job(ctx context.Context, verb, unit string) error {
	// It fails for a unit that never ran; then there is nothing to reset.
	_, _ = m.systemctl(ctx, "reset-failed", unit)
	_, err := m.systemctl(ctx, verb, unit)
	var exit *ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		log, _ := m.Run(ctx, Cmd{Path: "journalctl",
			Args: []string{"--unit", unit, "--lines", "15", "--output", "cat", "--no-pager"}, Timeout: 20 * time.Second})
		exit.Output = lastLines([]byte(exit.Output + "\n" + string(log)))
	}
	return err
}

// unitProperties are what Units asks for.
const unitProperties = "Id,ActiveState,SubState,Result,ActiveEnterTimestamp,NRestarts"

func (m *machine) Units(ctx context.Context, units ...string) (map[string]Unit, error) {
	if len(units) == 0 {
		return map[string]Unit{}, nil
	}
	out, err := m.Run(ctx, Cmd{Path: "systemctl", Timeout: 10 * time.Second,
		Args: append([]string{"show", "--timestamp=unix", "--property", unitProperties, "--"}, units...)})
	if err != nil {
		return nil, err
	}
	return parseUnits(string(out), units), nil
}

// parseUnits reads the blocks of systemctl show, which come in the order of the names asked for.
func parseUnits(text string, names []string) map[string]Unit {
	units := make(map[string]Unit, len(names))
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, name := range names {
		u := Unit{Active: "inactive"}
		if i < len(blocks) {
			for line := range strings.Lines(blocks[i]) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				u.set(key, value)
			}
		}
		units[name] = u
	}
	return units
}

func (u *Unit) set(key, value string) {
	switch key {
	case "ActiveState":
		u.Active = value
	case "SubState":
		u.Sub = value
	case "Result":
		u.Result = value
	case "NRestarts":
		u.Restart, _ = strconv.Atoi(value)
	case "ActiveEnterTimestamp":
		if at, err := strconv.ParseInt(strings.TrimPrefix(value, "@"), 10, 64); err == nil && at > 0 {
			u.Since = time.Unix(at, 0)
		}
	}
	// The time stays in systemd's memory after the unit has stopped.
	if u.Active != "active" {
		u.Since = time.Time{}
	}
}
