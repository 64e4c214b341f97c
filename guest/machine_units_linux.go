package guest

import (
	"context"
	"errors"
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
