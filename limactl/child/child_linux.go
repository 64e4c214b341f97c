package child

import "syscall"

// dieWithUs makes the kernel kill a child when this process dies. Otherwise limactl would continue, and change things
// that the next command has checked already.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
