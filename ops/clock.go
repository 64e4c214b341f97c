package ops

import (
	"context"
	"fmt"
	"time"

	"hermes-box/ops/fault"
)

// maxSkew is how far the clock of the box may be off before signing in is refused: codes and certificates would not be
// valid.
const maxSkew = time.Minute

// ClockRepair is what sets the clock of the box.
const ClockRepair = "hermes-box exec -- sudo systemctl restart systemd-timesyncd"

// clockSkew is how far the clock of the box is ahead of this machine's, negative where it is behind. now is the time that
// the box told between begun and ended: what lies between them is no skew.
func clockSkew(now string, begun, ended time.Time) (time.Duration, error) {
	guest, err := time.Parse(time.RFC3339Nano, now)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the box tells a time that is none: %w", err)
	case guest.Before(begun):
		return guest.Sub(begun), nil
	case guest.After(ended):
		return guest.Sub(ended), nil
	}
	return 0, nil
}

// SkewText says how far two clocks are apart, for people: "1h0m behind"; "" where that is too little to matter.
func SkewText(skew time.Duration) string {
	const matters = 5 * time.Second
	skew = skew.Round(time.Second)
	way := "ahead"
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

// checkSkew refuses where the clock of the box is off by more than maxSkew.
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
	if skew.Abs() > maxSkew {
		return fault.New(fault.PreflightFailed, "the clock of the box is %s this machine's: signing in would fail", SkewText(skew)).
			Hint("%s", ClockRepair).Detail("skew_seconds", skew.Seconds())
	}
	return nil
}
