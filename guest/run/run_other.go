//go:build !linux

package run

import "syscall"

// attributes returns settings that start a command in a new process group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// descendants returns nil. On systems other than Linux, only the rehearsal uses this package.
func descendants(int) []int { return nil }
