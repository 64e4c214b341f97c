//go:build !linux

package child

import "syscall"

// dieWithUs does nothing: only Linux can kill a child when its parent dies.
func dieWithUs(*syscall.SysProcAttr) {}
