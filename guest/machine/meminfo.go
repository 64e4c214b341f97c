package machine

import (
	"fmt"
	"strings"

	"hermes-box/guest/protocol"
)

// Memory parses /proc/meminfo. Used memory is the total less what is available without swapping.
func Memory(text string) (ram, swap protocol.Usage) {
	field := map[string]int64{}
	for line := range strings.Lines(text) {
		var name string
		var kib int64
		if n, _ := fmt.Sscanf(line, "%s %d kB", &name, &kib); n == 2 {
			field[name] = kib << 10
		}
	}
	ram = protocol.Usage{Total: field["MemTotal:"], Used: field["MemTotal:"] - field["MemAvailable:"]}
	swap = protocol.Usage{Total: field["SwapTotal:"], Used: field["SwapTotal:"] - field["SwapFree:"]}
	return ram, swap
}
