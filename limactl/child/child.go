// Package child prepares commands that run without our terminal and end with us.
package child

import (
	"os/exec"
	"syscall"
	"time"
)

// Grace is how long a cancelled command has to end by itself, and how long its pipes may stay open after it.
const Grace = 5 * time.Second

// Detach puts a command into a session of its own, where ctrl-c and a closing terminal do not reach it, and has it end
// when its context does or we are killed. What it leaves running in yet another session, as limactl does with Lima's host
// agent, lives on.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithUs(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = Grace
}

// Sweep kills what a cancelled command has left of its process group.
func Sweep(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
