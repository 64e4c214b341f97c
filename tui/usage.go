package tui

import (
	"fmt"

	"hermes-box/guest/protocol"
)

// nearlyFull reports whether less than a tenth is free.
func nearlyFull(u protocol.Usage) bool { return u.Total > 0 && u.Used*10 > u.Total*9 }

// fullDisks says which disks of a box that answers are nearly full, one a line.
func (s *state) fullDisks() (out []string) {
	st := s.status()
	if st.Guest == nil || !st.Live {
		return nil
	}
	for _, disk := range []struct {
		name string
		use  protocol.Usage
	}{{"root", st.Guest.Root}, {"data", st.Guest.Data}} {
		if nearlyFull(disk.use) {
			out = append(out, fmt.Sprintf("the %s disk is %d %% full: doctor (d) shows how to find what fills it", disk.name, 100*disk.use.Used/disk.use.Total))
		}
	}
	return out
}

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
