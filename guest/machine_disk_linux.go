package guest

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

	"golang.org/x/sys/unix"
)

// mib is what must be zero at either end of a blank disk: tables, superblocks and their copies live there.
const mib = 1 << 20

func (m *machine) Disk(ctx context.Context, device string) (Disk, error) {
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
		// Nothing that blkid knows.
		return Disk{Size: size, Blank: zero}, nil
	default:
		return Disk{}, fmt.Errorf("look at %s: %w", device, err)
	}
}

// zeroEnds tells the size, and whether the first and the last MiB hold nothing but zeros.
func zeroEnds(f io.ReadSeeker) (size int64, zero bool, err error) {
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, false, err
	}
	if size < 2*mib {
		return size, false, fmt.Errorf("it holds %d bytes only", size)
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

// parseBlkid reads blkid's export form. A disk that blkid knows anything of is not blank.
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

func (m *machine) Format(ctx context.Context, device, uuid, label string) error {
	// Opened exclusively first: what is mounted or otherwise held is refused by the kernel itself.
	f, err := os.OpenFile(device, os.O_RDWR|syscall.O_EXCL, 0)
	if err != nil {
		return err
	}
	f.Close()
	if _, err := m.Run(ctx, Cmd{Path: "mkfs.ext4", Args: []string{"-q", "-m", "1", "-U", uuid, "-L", label, device},
		Timeout: 10 * time.Minute}); err != nil {
		return err
	}
	// fstab names the disk by UUID, and udev makes that name.
	_, err = m.Run(ctx, Cmd{Path: "udevadm", Args: []string{"settle", "--timeout=60"}, Timeout: 90 * time.Second})
	return err
}

func (m *machine) Mount(ctx context.Context, path string) error {
	_, err := m.Run(ctx, Cmd{Path: "mount", Args: []string{path}, Timeout: 5 * time.Minute})
	return err
}

func (m *machine) MountedUUID(_ context.Context, path string) (string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	if !mounted(string(table), path) {
		return "", nil
	}
	return filesystemUUID(path)
}

// mounted looks for a mount point in the text of mountinfo.
func mounted(table, path string) bool {
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == path {
			return true
		}
	}
	return false
}

// filesystemUUID asks the filesystem itself, so that no name made by udev can be stale and no privilege is
// needed.
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
		return "", fmt.Errorf("what is mounted at %s tells no UUID: %w", path, errno)
	}
	u := answer.uuid
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16]), nil
}
