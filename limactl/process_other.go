//go:build !linux

package limactl

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// commandLine is the command line of a process, its arguments joined by blanks; empty if it has none.
func commandLine(pid int) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
