package ops

import (
	"fmt"
	"os"
	"strings"
)

// freeMemory is how much can be had without swapping, in bytes; 0 if the kernel does not tell.
func freeMemory() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
