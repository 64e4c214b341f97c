package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"hermes-box/guest/protocol"

	"golang.org/x/sys/unix"
)

// mib is the number of bytes that must be zero at each end of a blank disk, where partition tables and superblocks
// are.
const mib = 1 << 20

// Disk finds out what is on a block device. If its first or last MiB cannot be read, or blkid fails, Disk returns an
// error and does not guess.
func (m *Machine) Disk(ctx context.Context, device string) (Disk, error) {
	info, err := os.Stat(device)
	if err != nil {
		return Disk{}, err
	}
	if info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0 {
		return Disk{}, fmt.Errorf("%s is not a block device", device)
	}
	f, err := os.Open(device)
	if err != nil {
		return Disk{}, err
	}
	defer f.Close()
	size, zero, err := zeroEnds(f)
	if err != nil {
		return Disk{}, fmt.Errorf("read %s: %w", device, err)
	}
	out, err := m.Run(ctx, Cmd{Path: "blkid", Args: []string{"--probe", "--output", "export", device}})
	var exit *ExitError
	switch {
	case err == nil:
		d := parseBlkid(string(out))
		d.Size = size
		return d, nil
	case errors.As(err, &exit) && exit.Status == 2 && len(bytes.TrimSpace(out)) == 0:
		// blkid recognized nothing.
		return Disk{Size: size, Blank: zero}, nil
	default:
		return Disk{}, fmt.Errorf("probe %s: %w", device, err)
	}
}

// zeroEnds returns the size, and whether the first and the last MiB are all zeros.
func zeroEnds(f io.ReadSeeker) (size int64, zero bool, err error) {
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, false, err
	}
	if size < 2*mib {
		return size, false, fmt.Errorf("it has only %d bytes", size)
	}
	buf := make([]byte, mib)
	for _, at := range []int64{0, size - mib} {
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			return 0, false, err
		}
		if _, err := io.ReadFull(f, buf); err != nil {
			return 0, false, err
		}
		if bytes.Count(buf, []byte{0}) != len(buf) {
			return size, false, nil
		}
	}
	return size, true, nil
}

// parseBlkid parses the export format of blkid. A disk on which blkid recognizes anything is not blank.
func parseBlkid(text string) Disk {
	var d Disk
	var table string
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "TYPE":
			d.Type = value
		case "UUID":
			d.UUID = strings.ToLower(value)
		case "PTTYPE":
			table = value
		}
	}
	if d.Type == "" && table != "" {
		d.Type = table + " partition table"
	}
	if d.Type == "" {
		d.Type = "unknown signature"
	}
	return d
}

// Format makes an ext4 file system with this UUID. The caller makes sure that the device holds no data.
func (m *Machine) Format(ctx context.Context, device, uuid, label string) error {
	// With O_EXCL the kernel refuses to open a device that is mounted or in use.
	f, err := os.OpenFile(device, os.O_RDWR|syscall.O_EXCL, 0)
	if err != nil {
		return err
	}
	f.Close()
	if _, err := m.Run(ctx, Cmd{Path: "mkfs.ext4", Args: []string{"-q", "-m", "1", "-U", uuid, "-L", label, device},
		Timeout: 10 * time.Minute}); err != nil {
		return err
	}
	// fstab may name the disk by UUID, so wait until udev has made the link for it.
	_, err = m.Run(ctx, Cmd{Path: "udevadm", Args: []string{"settle", "--timeout=60"}, Timeout: 90 * time.Second})
	return err
}

// Mount mounts what /etc/fstab says for path.
func (m *Machine) Mount(ctx context.Context, path string) error {
	_, err := m.Run(ctx, Cmd{Path: "mount", Args: []string{path}, Timeout: 5 * time.Minute})
	return err
}

// MountedUUID returns the UUID of the file system that is mounted exactly at path; empty if none is.
func (m *Machine) MountedUUID(_ context.Context, path string) (string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	if !mounted(string(table), path) {
		return "", nil
	}
	return filesystemUUID(path)
}

// mounted reports whether path is a mount point in the text of mountinfo.
func mounted(table, path string) bool {
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == path {
			return true
		}
	}
	return false
}

// filesystemUUID asks the kernel for the UUID of the file system at path. That needs no privilege. A link made by udev
// could be out of date.
func filesystemUUID(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var answer struct {
		len  uint8
		uuid [16]uint8
	}
	const getUUID = 0x80111500 // FS_IOC_GETFSUUID, linux 6.9
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), getUUID, uintptr(unsafe.Pointer(&answer))); errno != 0 {
		return "", fmt.Errorf("read the UUID of the filesystem at %s: %w", path, errno)
	}
	u := answer.uuid
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16]), nil
}

// Usage counts the bytes of the file system at path as an ordinary user sees them, like df; zero if it cannot be read.
func (m *Machine) Usage(path string) protocol.Usage {
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return protocol.Usage{}
	}
	block := fs.Bsize
	used := (int64(fs.Blocks) - int64(fs.Bfree)) * block
	return protocol.Usage{Used: used, Total: used + int64(fs.Bavail)*block}
}
