package run

import (
	"syscall"
	"time"
)

// end sends SIGHUP to a process, its group and its descendants, and after grace SIGKILL to those that still run.
func end(pid int) {
	family := descendants(pid)
	signal := func(sig syscall.Signal) (any bool) {
		any = syscall.Kill(-pid, sig) == nil
		for _, p := range family {
			any = syscall.Kill(p, sig) == nil || any
		}
		return any
	}
	signal(syscall.SIGHUP)
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !signal(0) {
			return
		}
	}
	family = append(family, descendants(pid)...)
	signal(syscall.SIGKILL)
}
