package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Requests of ioctl, from linux/fs.h.
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// Freeze stops all writes to the file system that is mounted at path until thaw is called, this process ends for any
// reason, or the limit has passed. In the last two cases another process thaws the file system. If the limit has passed
// before thaw was called, thaw returns an error, because the file system may have changed.
func (m *Machine) Freeze(ctx context.Context, path string, limit time.Duration) (thaw func() error, err error) {
	g, _, err := startGuard(thawArg, path, limit.String())
	if err != nil {
		return nil, fmt.Errorf("start the process that thaws %s: %w", path, err)
	}
	if err := errors.Join(ctx.Err(), freezing(path, fiFreeze)); err != nil {
		return nil, errors.Join(fmt.Errorf("freeze %s: %w", path, err), g.stop())
	}
	return func() error {
		thawErr := freezing(path, fiThaw)
		if err := g.stop(); err != nil || thawErr != nil {
			return fmt.Errorf("the freeze of %s ended after %v: %w", path, limit, errors.Join(err, thawErr))
		}
		return nil
	}, nil
}

// ready is the line that the thawing process prints once it runs.
const ready = "ready\n"

// keepThawable runs in the process that Freeze starts. It thaws the file system at path when in ends or the limit has
// passed, and returns an error in the second case. It ignores the usual signals that end a program.
func keepThawable(path string, limit time.Duration, in io.Reader, out io.Writer) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	if _, err := io.WriteString(out, ready); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(ended)
	}()
	select {
	case <-ended:
		_ = freezing(path, fiThaw) // fails if the other process has thawed the file system
		return nil
	case <-time.After(limit):
		return errors.Join(fmt.Errorf("%s was frozen for %v", path, limit), freezing(path, fiThaw))
	}
}

// freezing freezes or thaws the file system at path. Syncing first makes the freeze itself short.
func freezing(path string, request uint) error {
	if request == fiFreeze {
		if err := syncAt(path); err != nil {
			return err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetInt(int(f.Fd()), request, 0)
}

// syncAt writes what the file system at path holds in memory to its disk.
func syncAt(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
