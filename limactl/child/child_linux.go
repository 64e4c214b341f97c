package child

import "syscall"

// dieWithUs has the kernel kill a child when we are killed: a limactl that goes on alone would undo what the next
// command has already checked.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
