package ops

import "golang.org/x/sys/unix"

// freeMemory returns all memory of the machine, in bytes: macOS frees its caches when a VM needs memory.
func freeMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
