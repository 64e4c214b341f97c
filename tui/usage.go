package tui

import (
	"fmt"

	"hermes-box/guest/protocol"
)

// usage formats used and total space: "3.1/8G".
func usage(u protocol.Usage) string {
	if u.Total <= 0 {
		return "–"
	}
	g := func(n int64) string {
		f := float64(n) / (1 << 30)
		if f >= 9.95 || f == float64(int64(f)) {
			return fmt.Sprintf("%.0f", f)
		}
		return fmt.Sprintf("%.1f", f)
	}
	return g(u.Used) + "/" + g(u.Total) + "G"
}
