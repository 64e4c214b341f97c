package terminal

import "syscall"

// hangUpWithUs makes the kernel send SIGHUP to a child when this process is killed, so that the child restores the
// terminal.
func hangUpWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGHUP }
