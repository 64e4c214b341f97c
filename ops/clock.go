package ops

import (
	"context"
	"fmt"
	"time"

	"hermes-box/ops/fault"
)

// maxSkew is the largest error of the box's clock with which signing in is allowed. With a larger one, codes and
// certificates would be invalid.
const maxSkew = time.Minute

// ClockRepair is the command that sets the clock of the box.
const ClockRepair = "hermes-box exec -- sudo systemctl restart systemd-timesyncd"

// clockSkew returns how far the clock of the box is ahead of this machine's; negative if it is behind. now is the time
// in the answer of the box to a request that lasted from begun to ended. A time between the two counts as no skew.
func clockSkew(now string, begun, ended time.Time) (time.Duration, error) {
	guest, err := time.Parse(time.RFC3339Nano, now)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the time of the box cannot be read: %w", err)
	case guest.Before(begun):
		return guest.Sub(begun), nil
	case guest.After(ended):
		return guest.Sub(ended), nil
	}
	return 0, nil
}

// SkewText formats the difference of two clocks: "1h0m behind" or "1h0m ahead of"; "" if it is too small to matter.
func SkewText(skew time.Duration) string {
	const matters = 5 * time.Second
	skew = skew.Round(time.Second)
	way := "ahead of"
	if skew < 0 {
		skew, way = -skew, "behind"
	}
	switch {
	case skew < matters:
		return ""
	case skew < time.Hour:
		return fmt.Sprintf("%v %s", skew, way)
	}
	return fmt.Sprintf("%dh%dm %s", int(skew.Hours()), int(skew.Minutes())%60, way)
}

// checkSkew returns an error if the clock of the box is wrong by more than maxSkew.
func (b *Box) checkSkew(ctx context.Context) error {
	begun := time.Now()
	status, err := b.guestStatus(ctx)
	if err != nil {
		return err
	}
	skew, err := clockSkew(status.Now, begun, time.Now())
	if err != nil {
		return err
	}
	return signInSkew(skew)
}

// signInSkew returns an error if skew is more than maxSkew.
func signInSkew(skew time.Duration) error {
	if skew.Abs() > maxSkew {
		return fault.New(fault.PreflightFailed, "the clock of the box is %s this machine's: signing in would fail", SkewText(skew)).
			Hint("%s", ClockRepair).Detail("skew_seconds", skew.Seconds())
	}
	return nil
}
