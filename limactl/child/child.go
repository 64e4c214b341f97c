// Package child prepares commands that run without our terminal and end with us.
package child

import (
	"os/exec"
	"syscall"
	"time"
)

// Grace is the time that a cancelled command has to exit by itself, and the time that its pipes may stay open
// afterwards.
const Grace = 5 * time.Second

// Detach makes a command run in a session of its own, where ctrl-c and a closing terminal do not reach it. The
// command is terminated when its context ends, and killed when this process is killed. Processes that it has started
// in yet another session, such as Lima's host agent, go on.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithUs(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = Grace
}

// Sweep kills the processes that a cancelled command has left in its process group.
func Sweep(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
