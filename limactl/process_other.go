//go:build !linux

package limactl

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// commandLine returns the command line of a process, its arguments joined by spaces; "" if it has none or the process
// is gone. It returns an error if this user cannot see it.
func commandLine(pid int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return "", nil // no such process
	}
	return strings.TrimSpace(string(out)), err
}
