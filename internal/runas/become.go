package runas

import (
	"fmt"
	"os"
	"syscall"
)

// ownerUID returns the owner of a file.
func ownerUID(st os.FileInfo) int {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return 0
}

// become replaces this process with the same program and arguments, run by another user. It sets the groups first,
// because a process that has given up its uid cannot change them and would keep root's.
func become(who identity) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := syscall.Setgroups(who.groups); err != nil {
		return fmt.Errorf("become user %s: groups: %w", who.name, err)
	}
	if err := syscall.Setgid(who.gid); err != nil {
		return fmt.Errorf("become user %s: group: %w", who.name, err)
	}
	if err := syscall.Setuid(who.uid); err != nil {
		return fmt.Errorf("become user %s: %w", who.name, err)
	}
	err = syscall.Exec(exe, os.Args, who.environment(os.Environ()))
	return &Error{
		message: fmt.Sprintf("%s cannot run %s: %v", who.name, exe, err),
		hint:    fmt.Sprintf("put hermes-box and its config where the user %s can read them, such as /srv", who.name),
		err:     err,
	}
}
