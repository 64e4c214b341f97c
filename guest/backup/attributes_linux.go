package backup

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"hermes-box/guest/protocol/tree"
)

// attributes gives an open file its owner, mode, extended attributes and time, in this order, since setting one may
// reset a later one: a new owner clears the setuid bit and the capabilities. An attribute that this user or file system
// cannot set is lost, and reported.
func (u *unpacking) attributes(fd int, e *tree.Entry) error {
	path := fmt.Sprintf("/proc/self/fd/%d", fd) // also for a descriptor that was opened with O_PATH
	for _, set := range []struct {
		what string
		do   func() error
	}{
		{fmt.Sprintf("owner %d:%d", e.UID, e.GID), func() error {
			return unix.Fchownat(fd, "", int(e.UID), int(e.GID), unix.AT_EMPTY_PATH)
		}},
		{fmt.Sprintf("mode %04o", e.Mode), func() error {
			if e.Type == tree.Symlink { // a symlink has no mode of its own
				return nil
			}
			return unix.Chmod(path, e.Mode)
		}},
	} {
		if err := u.set(fd, e, set.what, set.do()); err != nil {
			return err
		}
	}
	for _, x := range e.Xattrs {
		if err := u.set(fd, e, fmt.Sprintf("extended attribute %q", x.Name), unix.Setxattr(path, string(x.Name), x.Value, 0)); err != nil {
			return err
		}
	}
	at := unix.NsecToTimespec(e.MTime)
	return u.set(fd, e, "time", unix.UtimesNanoAt(fd, "", []unix.Timespec{at, at}, unix.AT_EMPTY_PATH))
}

// impossible lists the errors for an attribute that this user or this file system cannot set. ENOSPC is one of them,
// because ext4 also reports an extended attribute that is too large as a full disk.
var impossible = []error{unix.EPERM, unix.EACCES, unix.ENOTSUP, unix.EINVAL, unix.E2BIG, unix.ERANGE, unix.ENOSPC}

// set handles the result of setting an attribute. An error in impossible is recorded as a loss, unless the disk is
// full. Other errors are returned.
func (u *unpacking) set(fd int, e *tree.Entry, what string, err error) error {
	var disk unix.Statfs_t
	if errors.Is(err, unix.ENOSPC) && unix.Fstatfs(fd, &disk) == nil && disk.Bavail == 0 {
		return fmt.Errorf("%s of %q: %w", what, e.Path, err)
	}
	if slices.ContainsFunc(impossible, func(i error) bool { return errors.Is(err, i) }) {
		u.lost(e, what, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s of %q: %w", what, e.Path, err)
	}
	return nil
}

func (u *unpacking) lost(e *tree.Entry, what string, err error) {
	u.out.Lost = append(u.out.Lost, tree.Problem{Path: e.Path, Reason: what + ": " + err.Error()})
}
