// Package age formats how long ago something was, or how long it has lasted, for the command line and the dashboard.
package age

import (
	"fmt"
	"time"
)

// Format formats a duration in whole seconds or minutes and, from an hour, in two units: "40s", "5m", "3h 4m", "3d 4h".
// It leaves out a second unit that is zero. A negative duration is "0s".
func Format(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return twoUnits(int(d.Minutes()), 60, "h", "m")
	}
	return twoUnits(int(d.Hours()), 24, "d", "h")
}

// twoUnits formats n small units as large and small ones. per is the number of small units in a large one.
func twoUnits(n, per int, large, small string) string {
	if n%per == 0 {
		return fmt.Sprintf("%d%s", n/per, large)
	}
	return fmt.Sprintf("%d%s %d%s", n/per, large, n%per, small)
}
