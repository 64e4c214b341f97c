//go:build !linux

package terminal

import "syscall"

// hangUpWithUs does nothing: only Linux can signal a child when its parent dies.
func hangUpWithUs(*syscall.SysProcAttr) {}
