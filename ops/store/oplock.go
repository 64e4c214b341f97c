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

// OpLock is the right to change a box. The operating system gives it back when the process ends, however it
// ends; what is written in the file only tells the loser who holds it.
type OpLock struct {
	f    *flock.Flock
	path string // of the file that names the holder
}

// Holder is who is changing a box. Its fields are zero where it could not be read.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
}

// Lock takes the right to change a box for an operation; it waits no longer than another process may look at the lock.
// Under it, what killed writers of the box's files have left beside them is removed. If another process has it, the
// error is busy and names its pid, operation and start.
func (h Home) Lock(box, operation string) (*OpLock, error) {
	path := h.lock(box)
	if !lockable(path) {
		return nil, fault.New(fault.IntegrityFailed, "%s is not a regular file", path).Hint("look at it, then remove it: ls -l %s", shellescape.Quote(path))
	}
	l, err := take(box, path, path, os.O_CREATE|os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err := note(path, holder(operation)); err != nil {
		l.Unlock()
		return nil, unwritable(path, err)
	}
	h.sweep(box)
	return l, nil
}

// LockForced is Lock for an operation that must work where nothing can be written. A lock that is there is taken as it
// is; where there is none and none can be made, or something else has its name, nobody else can have it, and the
// directory itself keeps two of these apart.
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

// take locks the file or directory at target; path is where its holder is noted.
func take(box, path, target string, flags int) (*OpLock, error) {
	f := flock.New(target, flock.SetPermissions(0o600), flock.SetFlag(flags|openFlags))
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	ok, err := f.TryLockContext(ctx, lookTime/10)
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

// openFlags: nothing but the lock itself is opened, and a pipe in its place is not waited for.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// lockable tells whether path can be a lock: a link could lead to somebody's file, which would be written over.
func lockable(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode().IsRegular()
}

// note writes who holds the lock into it. It is not renamed: the lock is on this very file.
func note(path string, who []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|openFlags, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(who)
	return errors.Join(err, f.Close())
}

// lookTime is longer than Holder has the lock, so that a look at a box never makes a change of it fail.
const lookTime = 200 * time.Millisecond

// Holder tells who is changing the box right now; nil if nobody is. A process that has taken the lock a moment ago may not
// have noted yet that it has, and one that was killed may still be giving it back: both are waited for.
func (h Home) Holder(box string) *Holder {
	path := h.lock(box)
	for deadline := time.Now().Add(lookTime); ; time.Sleep(lookTime / 40) {
		if !held(path) {
			return nil
		}
		who := readHolder(path)
		if who.PID != 0 && alive(who.PID) {
			return who
		}
		if time.Now().After(deadline) {
			return &Holder{} // somebody has it, who did not note it
		}
	}
}

// held tells whether a process has the lock.
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

// alive tells whether a process is there, whoever it belongs to.
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
		Hint("wait for it to end; hermes-box status shows the box meanwhile").
		Detail("pid", who.PID).Detail("command", who.Command).Detail("started", who.Started)
}

// Unlock gives the right back. The file stays: removing it would let two processes hold two locks.
func (l *OpLock) Unlock() error {
	_ = note(l.path, nil) // so that nobody takes us for the next one who has it
	return l.f.Unlock()
}
