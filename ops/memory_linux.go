package ops

import (
	"fmt"
	"os"
	"strings"
)

// freeMemory returns the memory that is available without swapping, in bytes; 0 if it is not known.
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
