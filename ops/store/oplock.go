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

// OpLock is the lock that a process holds while it changes a box. The operating system releases it when the process
// ends. The content of the file only names the holder.
type OpLock struct {
	f    *flock.Flock
	path string // of the file that names the holder
}

// Holder is the process that is changing a box. Its fields are zero if they could not be read.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
}

// Lock locks a box for an operation. It waits at most lockWait, and removes temporary files of a killed process. If the
// disk is full, Lock still takes the lock, but the file does not name the holder. If another process holds the lock,
// the error is busy and has its pid, operation and start.
func (h Home) Lock(box, operation string) (*OpLock, error) {
	path := h.lock(box)
	if !lockable(path) {
		return nil, fault.New(fault.IntegrityFailed, "%s is not a regular file", path).Hint("look at it, then remove it: ls -l %s", shellescape.Quote(path))
	}
	l, err := take(box, path, path, os.O_CREATE|os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	// A full disk is not an error: the operations that free space, such as deleting a backup, need the lock too.
	if err := note(path, holder(operation)); err != nil && !noSpace(err) {
		l.Unlock()
		return nil, unwritable(path, err)
	}
	h.sweep(box)
	return l, nil
}

// LockForced is Lock for an operation that must work if nothing can be written. It locks an existing lock file even if
// it cannot write the holder into it. If there is no lock file and none can be created, or its path is not a regular
// file, no other process can hold the lock. Then LockForced locks the state directory, so that only one forced
// operation runs.
func (h Home) LockForced(box, operation string) (*OpLock, error) {
	path := h.lock(box)
	if l, err := h.Lock(box, operation); err == nil || fault.CodeOf(err) == fault.Busy {
		return l, err
	}
	if lockable(path) {
		if l, err := take(box, path, path, os.O_RDONLY); err == nil || fault.CodeOf(err) == fault.Busy {
			return l, err
		}
	}
	return take(box, path, string(h), os.O_RDONLY)
}

// take locks the file or directory at target. path is the file that names the holder.
func take(box, path, target string, flags int) (*OpLock, error) {
	f := flock.New(target, flock.SetPermissions(0o600), flock.SetFlag(flags|openFlags))
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	ok, err := f.TryLockContext(ctx, lockWait/10)
	if err != nil && ctx.Err() == nil {
		return nil, unwritable(target, err)
	}
	if !ok {
		return nil, busy(box, path)
	}
	return &OpLock{f, path}, nil
}

func holder(operation string) []byte {
	me, _ := json.Marshal(Holder{os.Getpid(), operation, time.Now().UTC()})
	return me
}

// openFlags make open refuse links, and return at once for a named pipe instead of waiting for its other end.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// lockable reports whether path is a regular file or does not exist. A link could lead to another file, which would be
// overwritten.
func lockable(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode().IsRegular()
}

// note writes the holder into the lock file. It does not replace the file by renaming another one, since the lock is
// on this file.
func note(path string, who []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|openFlags, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(who)
	return errors.Join(err, f.Close())
}

// lockWait is longer than the time for which the method Holder holds the lock to look at it, so that a status command
// never makes an operation fail.
const lockWait = 200 * time.Millisecond

// Holder returns the process that is changing the box now; nil if there is none. It waits a moment if the holder has
// not written its name yet, or if the system has not released the lock of a killed process yet.
func (h Home) Holder(box string) *Holder {
	path := h.lock(box)
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockWait / 40) {
		if !held(path) {
			return nil
		}
		who := readHolder(path)
		if who.PID != 0 && alive(who.PID) {
			return who
		}
		if time.Now().After(deadline) {
			return &Holder{} // a process that could not write its name
		}
	}
}

// held reports whether a process holds the lock.
func held(path string) bool {
	if !lockable(path) {
		return false
	}
	f := flock.New(path, flock.SetFlag(os.O_RDONLY|openFlags))
	ok, err := f.TryRLock()
	if ok {
		f.Unlock()
	}
	return !ok && err == nil
}

// alive reports whether a process exists, whichever user it belongs to.
func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
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
	if who.PID != 0 && alive(who.PID) {
		by = fmt.Sprintf("pid %d (%s), started %s", who.PID, who.Command, who.Started.Local().Format(time.DateTime))
	}
	return fault.New(fault.Busy, "box %q is being changed by %s", box, by).
		Hint("wait for it to end; to see the box meanwhile: hermes-box status").
		Detail("pid", who.PID).Detail("command", who.Command).Detail("started", who.Started)
}

// Unlock releases the lock. The file stays: removing it would let two processes each hold a lock.
func (l *OpLock) Unlock() error {
	_ = note(l.path, nil) // otherwise Holder could return this process while the next one holds the lock
	return l.f.Unlock()
}
