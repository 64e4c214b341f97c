//go:build !linux

package run

import "syscall"

// attributes gives a command a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// descendants returns none: only the rehearsal runs on other systems than Linux.
func descendants(int) []int { return nil }
