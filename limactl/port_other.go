//go:build !linux

package limactl

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// portHolder names the process that listens on a TCP port, if it is one that we may look at.
func portHolder(port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "lsof", "-nP", fmt.Sprintf("-iTCP:%d", port), "-sTCP:LISTEN", "-Fpc").Output()
	var pid, command string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "p") && pid == "":
			pid = line[1:]
		case strings.HasPrefix(line, "c") && command == "":
			command = line[1:]
		}
	}
	if pid == "" {
		return ""
	}
	return fmt.Sprintf("pid %s (%s)", pid, command)
}
