package rehearsal

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a small file system on the directory of a disk, so that writes to a full disk really fail.
func mountSmall(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=700"); err != nil {
		return fmt.Errorf("the fault %s needs root: %w", SmallDisk, err)
	}
	return nil
}

// unmountSmall undoes mountSmall. Without a mount it does nothing.
func unmountSmall(dir string) { _ = unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) }
