package limactl

import (
	"os"
	"strconv"
	"strings"
)

// commandLine is the command line of a process, its arguments joined by blanks; empty if it has none.
func commandLine(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " "))
}
