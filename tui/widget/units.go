package widget

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"hermes-box/internal/spell"
)

// Size formats a number of bytes: "340 MiB".
func Size(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// Count formats a number of things: "1 line", "2 lines".
func Count(n int, what string) string { return spell.Count(n, what) }

// Elapsed formats how long something took: "1.2s", "12s", "1m42s".
func Elapsed(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// SoFar formats how long something has been running: like Elapsed, but without tenths of a second, which change too
// fast to be read.
func SoFar(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	}
	return Elapsed(d)
}
