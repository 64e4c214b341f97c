package terminal

import "syscall"

// hangUpWithUs has the kernel send SIGHUP to a child when we are killed, so that it restores the terminal.
func hangUpWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGHUP }
