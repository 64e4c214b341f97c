package machine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Room for a snapshot. While the snapshot exists, the blocks that programs overwrite are kept on the root disk.
const (
	leastRoom = 64 << 20  // bytes; with less there is no snapshot
	spareRoom = 512 << 20 // bytes that the root disk keeps free
)

// roomLoop makes a loop device over a file without a name in dir. The file is sparse: it uses disk space only as it is
// written to. The device and the file are removed when nothing has them open any more.
func roomLoop(dir string) (*os.File, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return nil, err
	}
	room := int64(fs.Bavail)*fs.Bsize - spareRoom
	if room < leastRoom {
		return nil, fmt.Errorf("the root disk has no room for a snapshot: it needs %d MiB free", (spareRoom+leastRoom)>>20)
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file in %s: %w", dir, err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, room&^(1<<20-1)); err != nil {
		return nil, err
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for range 10 { // another program may take the free device first
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a loop device: %w", err)
		}
		loop, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", number), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		config := unix.LoopConfig{Fd: uint32(fd)}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		if err = unix.IoctlLoopConfigure(int(loop.Fd()), &config); err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("set up %s: %w", loop.Name(), err)
		}
	}
	return nil, errors.New("no loop device is free")
}

// forget drops what the kernel has cached of a block device: udev read the snapshot before its content was final.
func forget(device string) error {
	f, err := os.Open(device)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetInt(int(f.Fd()), unix.BLKFLSBUF, 0)
}
