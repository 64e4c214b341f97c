package child

import "syscall"

// dieWithUs makes the kernel kill a child when this process dies: a limactl that went on would change what the next
// command has already checked.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
