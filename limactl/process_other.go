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

// commandLine returns the command line of a process, its arguments joined by blanks; empty if it has none or is gone. It
// is an error if that cannot be seen.
func commandLine(pid int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return "", nil // there is no such process
	}
	return strings.TrimSpace(string(out)), err
}
