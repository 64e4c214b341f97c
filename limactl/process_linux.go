package limactl

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// commandLine returns the command line of a process, its arguments joined by spaces; "" if it has none or the process
// is gone. It returns an error if this user cannot see it.
func commandLine(pid int) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", nil
	}
	return strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " ")), err
}
