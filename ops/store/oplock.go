package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"hermes-box/ops/fault"
)

// OpLock is the lock for changing a box. The operating system releases it when the process ends; the content of the file
// only names the holder.
type OpLock struct{ f *flock.Flock }

// Holder is the process that is changing a box. Its fields are zero if they could not be read.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
}

// Lock locks a box for an operation, and waits only a moment. Temporary files of a killed process are removed. If another
// process holds the lock, the error is busy and names its pid, operation and start.
func (h Home) Lock(box, operation string) (*OpLock, error) {
	path := h.lock(box)
	if !lockable(path) {
		return nil, fault.New(fault.IntegrityFailed, "%s is not a regular file", path).Hint("look at it, then remove it: ls -l %s", shellescape.Quote(path))
	}
	f := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|openFlags))
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	ok, err := f.TryLockContext(ctx, lookTime/10)
	if err != nil && ctx.Err() == nil {
		return nil, unwritable(path, err)
	}
	if !ok {
		return nil, busy(box, path)
	}
	me, _ := json.Marshal(Holder{os.Getpid(), operation, time.Now().UTC()})
	if err := note(path, me); err != nil {
		f.Unlock()
		return nil, unwritable(path, err)
	}
	h.sweep(box)
	return &OpLock{f}, nil
}

// openFlags open nothing through a link, and do not wait for a pipe.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// lockable reports whether path can be a lock file: a link could lead to a file that would be overwritten.
func lockable(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode().IsRegular()
}

// note writes the holder into the lock file. It is not renamed, since the lock is on this very file.
func note(path string, who []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|openFlags, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(who)
	return errors.Join(err, f.Close())
}

// lookTime is longer than Holder holds the lock, so that a status never makes an operation fail.
const lookTime = 200 * time.Millisecond

// Holder returns the process that is changing the box now; nil if there is none.
func (h Home) Holder(box string) *Holder {
	path := h.lock(box)
	if !lockable(path) {
		return nil
	}
	f := flock.New(path, flock.SetFlag(os.O_RDONLY|openFlags))
	ok, err := f.TryRLock()
	if ok {
		f.Unlock()
	}
	if ok || err != nil {
		return nil
	}
	return readHolder(path)
}

func readHolder(path string) *Holder {
	who := &Holder{}
	if data, err := ReadFile(path, 64<<10); err == nil {
		_ = json.Unmarshal(data, who)
	}
	return who
}

func busy(box, path string) error {
	who := readHolder(path)
	by := "another process"
	if who.PID != 0 {
		by = fmt.Sprintf("pid %d (%s), started %s", who.PID, who.Command, who.Started.Local().Format(time.DateTime))
	}
	return fault.New(fault.Busy, "box %q is being changed by %s", box, by).
		Hint("wait for it to end; hermes-box status shows the box meanwhile").
		Detail("pid", who.PID).Detail("command", who.Command).Detail("started", who.Started)
}

// Unlock releases the lock. The file stays: removing it would let two processes hold two locks.
func (l *OpLock) Unlock() error { return l.f.Unlock() }
