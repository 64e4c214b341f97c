package ops

import "golang.org/x/sys/unix"

// freeMemory is what the machine has in all, in bytes: macOS makes room for a VM out of what it only keeps at hand.
func freeMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
