package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Names of devices of device mapper. The package makes, changes and removes no other devices of device mapper. Tests
// use other names.
var (
	dataMap     = "hermes-box-data"     // the data disk as it is mounted
	originMap   = "hermes-box-origin"   // the data disk below a snapshot; exists while the snapshot does
	snapshotMap = "hermes-box-snapshot" // the data disk as it was when the snapshot was made
)

func mapperPath(name string) string { return "/dev/mapper/" + name }

// MapData makes /dev/mapper/hermes-box-data, which stands for the whole device, and returns its path. If the map exists
// already, MapData only checks that it stands for this device. Only a file system that is mounted through the map can
// have a snapshot. MapData fails if the device is mounted directly, or if dmsetup or the kernel cannot make the map.
func (m *Machine) MapData(ctx context.Context, device string) (string, error) {
	real, err := filepath.EvalSymlinks(device)
	if err != nil {
		return "", err
	}
	raw := filepath.Base(real)
	if have, err := mapped(dataMap); err != nil {
		return "", err
	} else if have != "" {
		if on, err := below(have); err != nil || on != raw {
			return "", errors.Join(fmt.Errorf("%s stands for %s instead of %s", mapperPath(dataMap), on, raw), err)
		}
		return mapperPath(dataMap), nil
	}
	_, table, err := linear(raw, raw)
	if err != nil {
		return "", err
	}
	// dmsetup waits for rules of udev, which may just have been installed.
	if _, err := m.Run(ctx, Cmd{Path: "udevadm", Args: []string{"control", "--reload"}}); err != nil {
		return "", err
	}
	if err := m.dmsetup(ctx, "create", dataMap, "--table", table); err != nil {
		return "", err
	}
	_, err = os.Stat(mapperPath(dataMap))
	return mapperPath(dataMap), err
}

// MapUUID makes the map of MapData for the device that has the file system with this UUID, unless the map exists. It
// waits for the device, at most 30 seconds.
func (m *Machine) MapUUID(ctx context.Context, uuid string) error {
	link := "/dev/disk/by-uuid/" + uuid
	if _, err := m.Run(ctx, Cmd{Path: "udevadm", Args: []string{"wait", "--timeout=30", link}, Timeout: time.Minute}); err != nil {
		return err
	}
	if have, err := mapped(dataMap); err != nil || have != "" { // if the map exists, the link to the UUID may lead to it
		return err
	}
	_, err := m.MapData(ctx, link)
	return err
}

func (m *Machine) dmsetup(ctx context.Context, args ...string) error {
	_, err := m.Run(ctx, Cmd{Path: "dmsetup", Args: args})
	return err
}

// blocks is where the kernel shows block devices.
const blocks = "/sys/block"

// mapped returns the kernel's name, such as dm-0, of a device of device mapper; empty if there is none.
func mapped(name string) (string, error) {
	all, err := filepath.Glob(blocks + "/dm-*/dm/name")
	if err != nil {
		return "", err
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENODEV) { // the device is being removed
			return "", err
		}
		if strings.TrimSpace(string(text)) == name {
			return filepath.Base(filepath.Dir(filepath.Dir(file))), nil
		}
	}
	return "", nil
}

// below returns the kernel's name of the disk below devices of device mapper.
func below(name string) (string, error) {
	for strings.HasPrefix(name, "dm-") {
		entries, err := os.ReadDir(filepath.Join(blocks, name, "slaves"))
		if err != nil {
			return "", err
		}
		if len(entries) != 1 {
			return "", fmt.Errorf("%s is on %d devices", name, len(entries))
		}
		name = entries[0].Name()
	}
	return name, nil
}

// linear returns the table of a device-mapper device that stands for a disk, and the size of that device in sectors.
// raw is the kernel's name of the disk, such as vdb. like is the name of a device of the same size.
func linear(like, raw string) (sectors, table string, err error) {
	sectors, err1 := blockFile(like, "size")
	number, err2 := blockFile(raw, "dev")
	return sectors, fmt.Sprintf("0 %s linear %s 0", sectors, number), errors.Join(err1, err2)
}

// dataTable returns the table with which hermes-box-data stands for its disk, without a snapshot, and its size in
// sectors. The parameter data is the kernel's name of hermes-box-data.
func dataTable(data string) (sectors, table string, err error) {
	raw, err := below(data)
	if err != nil {
		return "", "", err
	}
	return linear(data, raw)
}

// blockFile returns what the kernel shows of a block device: its size in sectors of 512 bytes, or its number.
func blockFile(name, what string) (string, error) {
	text, err := os.ReadFile(filepath.Join(blocks, name, what))
	return strings.TrimSpace(string(text)), err
}

// resume gives a device the table that was loaded for it. In this one call the kernel freezes the file system on the
// device, changes the table, and thaws the file system. The call does the same as "dmsetup resume"; starting that
// program would take longer than the call.
func resume(name string) error {
	control, err := os.OpenFile("/dev/mapper/control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer control.Close()
	var request struct { // struct dm_ioctl of linux/dm-ioctl.h
		version   [3]uint32
		size      uint32
		start     uint32
		targets   uint32
		open      int32
		flags     uint32 // none: resume, and freeze the file system
		event     uint32
		_         uint32
		device    uint64
		name      [128]byte
		uuid      [129]byte
		remainder [7]byte
	}
	request.version, request.size = [3]uint32{4, 0, 0}, uint32(unsafe.Sizeof(request))
	copy(request.name[:len(request.name)-1], name)
	const deviceSuspend = 0xc138fd06 // DM_DEV_SUSPEND
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, control.Fd(), deviceSuspend, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return fmt.Errorf("resume %s: %w", name, errno)
	}
	return nil
}
