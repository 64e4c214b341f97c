// Package child prepares commands that run without the terminal of this process. On Linux they end when this
// process dies.
package child

import (
	"os/exec"
	"syscall"
	"time"
)

// Grace is the time that a canceled command has to exit by itself, and the time that its pipes may stay open
// afterwards.
const Grace = 5 * time.Second

// Detach makes a command run in a session of its own, where ctrl-c and a closing terminal do not reach it. The command
// is terminated when its context ends and, on Linux, killed when this process dies. Processes that it has started in
// another process group, such as Lima's host agent, continue to run.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithUs(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = Grace
}

// Sweep kills the processes that a canceled command has left in its process group.
func Sweep(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
