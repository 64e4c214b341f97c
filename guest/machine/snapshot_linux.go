package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"hermes-box/guest/protocol"
)

// readAhead is how far the kernel reads ahead in a snapshot, in sectors: 4 MiB, since a backup reads it in order.
const readAhead = "8192"

// snapshotDir is the directory, on the root disk, in which a snapshot keeps the blocks that programs overwrite. Tests
// use another one.
var snapshotDir = protocol.StateDir

// Snapshot makes a snapshot of the file system that is mounted at path through device mapper. Another process removes it
// when End is called or this process ends for any reason.
func (m *Machine) Snapshot(ctx context.Context, path string) (*Snapshot, error) {
	if err := onMapper(path); err != nil {
		return nil, err
	}
	g, line, err := startGuard(snapshotArg, path)
	if err != nil {
		return nil, fmt.Errorf("start the process that keeps the snapshot: %w", err)
	}
	frozen, err := strconv.ParseInt(line, 10, 64)
	if err != nil { // the line gives the reason
		_ = g.stop()
		return nil, errors.New(line)
	}
	if err := ctx.Err(); err != nil { // canceled while the snapshot was made
		return nil, errors.Join(err, g.stop())
	}
	root, err := mountDetached(mapperPath(snapshotMap))
	if err != nil {
		return nil, errors.Join(err, g.stop())
	}
	return &Snapshot{
		Root: fmt.Sprintf("/proc/self/fd/%d", root), Frozen: time.Duration(frozen),
		Full: m.full,
		End: func() error {
			err := unix.Close(root)
			if stopped := g.stop(); stopped != nil { // that process was killed, or could not remove the snapshot
				return errors.Join(err, m.removeSnapshot(context.WithoutCancel(ctx)))
			}
			return err
		},
	}, nil
}

// full reports whether the snapshot has no more room.
func (m *Machine) full(ctx context.Context) (bool, error) {
	out, err := m.Run(ctx, Cmd{Path: "dmsetup", Args: []string{"status", snapshotMap}})
	return !strings.Contains(string(out), "/"), err // "0 8192 snapshot 16/4096 0"; if it is full: "Invalid", "Overflow"
}

// onMapper returns an error unless the file system at path is on hermes-box-data.
func onMapper(path string) error {
	have, err := mapped(dataMap)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	if number := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)); have != "" {
		if is, err := blockFile(have, "dev"); err != nil || is == number {
			return err
		}
	}
	return errors.New("the data disk is not mounted through device mapper")
}

// mountDetached mounts the ext4 of a snapshot read-only without a mount point, and returns a descriptor of its root.
// The mount ends when the descriptor is closed. The journal of ext4 needs no replay: the file system was
// frozen when the snapshot was made.
func mountDetached(device string) (int, error) {
	fs, err := unix.Fsopen("ext4", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open a file system: %w", err)
	}
	defer unix.Close(fs)
	err = errors.Join(unix.FsconfigSetString(fs, "source", device), unix.FsconfigSetFlag(fs, "ro"), unix.FsconfigSetFlag(fs, "noload"))
	if err == nil {
		err = unix.FsconfigCreate(fs)
	}
	if err != nil {
		return -1, fmt.Errorf("mount %s: %w", device, err)
	}
	root, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID)
	if err != nil {
		return -1, fmt.Errorf("mount %s: %w", device, err)
	}
	return root, nil
}

// keepSnapshot runs in the process that Snapshot starts. It makes the snapshot of the file system at path, and removes
// it when in ends. It writes one line to out: the nanoseconds for which writes had to wait, or the reason why there is
// no snapshot. It ignores the usual signals that end a program.
func keepSnapshot(path string, in io.Reader, out io.Writer) (err error) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	ctx, m := context.Background(), New()
	mutex := flock.New(snapshotDir + "/snapshot-mutex")
	if got, err := mutex.TryLock(); err != nil || !got {
		if err == nil {
			err = errors.New("another backup is using the snapshot")
		}
		_, _ = fmt.Fprintln(out, oneLine(err))
		return nil
	}
	defer mutex.Close()
	defer func() { err = errors.Join(err, m.removeSnapshot(ctx)) }()
	var frozen time.Duration
	err = m.removeSnapshot(ctx) // removes what a killed backup has left
	if err == nil {
		frozen, err = m.makeSnapshot(ctx, path)
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, oneLine(err))
		return nil
	}
	if _, err := fmt.Fprintln(out, frozen.Nanoseconds()); err != nil {
		return nil // the process that started this one has ended
	}
	_, _ = io.Copy(io.Discard, in)
	return nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// makeSnapshot makes the snapshot of the file system at path and returns for how long writes had to wait.
func (m *Machine) makeSnapshot(ctx context.Context, path string) (time.Duration, error) {
	data, err := mapped(dataMap)
	if err != nil {
		return 0, err
	}
	sectors, table, err := dataTable(data)
	if err != nil {
		return 0, err
	}
	loop, err := roomLoop(snapshotDir)
	if err != nil {
		return 0, err
	}
	defer loop.Close() // after that only the snapshot uses the loop device, which goes away with the snapshot
	if err := m.dmsetup(ctx, "create", originMap, "--table", table); err != nil {
		return 0, err
	}
	// The snapshot keeps no blocks until resume has mapped the data disk onto the origin. N means that the snapshot is
	// not persistent: it need not outlive a reboot.
	kept := fmt.Sprintf("0 %s snapshot %s %s N 16", sectors, mapperPath(originMap), loop.Name())
	if err := m.dmsetup(ctx, "create", snapshotMap, "--readonly", "--readahead", readAhead, "--table", kept); err != nil {
		return 0, err
	}
	if err := m.dmsetup(ctx, "load", dataMap, "--table", fmt.Sprintf("0 %s snapshot-origin %s", sectors, mapperPath(originMap))); err != nil {
		return 0, err
	}
	if err := syncAt(path); err != nil { // so that little is left to write while it is frozen
		return 0, err
	}
	begun := time.Now()
	if err := resume(dataMap); err != nil {
		return 0, err
	}
	frozen := time.Since(begun)
	return frozen, forget(mapperPath(snapshotMap))
}

// removeSnapshot removes the snapshot, or what is left of one. If there is none, it does nothing.
func (m *Machine) removeSnapshot(ctx context.Context) error {
	data, err := mapped(dataMap)
	if err != nil || data == "" {
		return err
	}
	_, table, err := dataTable(data)
	if err != nil {
		return err
	}
	left := 0
	for _, name := range []string{snapshotMap, originMap} {
		have, err := mapped(name)
		if err != nil {
			return err
		}
		if have == "" {
			continue
		}
		if left++; left == 1 { // first map the data disk directly again; this also thaws it
			err := errors.Join(m.dmsetup(ctx, "load", dataMap, "--table", table), m.dmsetup(ctx, "resume", dataMap))
			if err != nil {
				return err
			}
		}
		if err := m.removeMapped(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// removeMapped removes a device. While another process has the device open, such as udev or a process that is being
// killed, removeMapped tries again, for a minute.
func (m *Machine) removeMapped(ctx context.Context, name string) error {
	for begun := time.Now(); ; {
		err := m.dmsetup(ctx, "remove", "--retry", name) // tries for 5 seconds
		if err == nil || ctx.Err() != nil || time.Since(begun) > time.Minute {
			return err
		}
	}
}
