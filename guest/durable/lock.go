package durable

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"hermes-box/guest/protocol"
)

// lockWait is how long Lock waits for another helper.
const lockWait = time.Minute

// Lock takes a lock that all helpers of the guest share, named by a file in the guest. If it does not get the lock
// within a minute, the error has the code busy. The kernel releases the lock when its holder dies.
func (t Tree) Lock(ctx context.Context, file string) (unlock func(), err error) {
	l, err := t.flock(file)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if _, err := l.TryLockContext(limited, 100*time.Millisecond); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = &protocol.Error{Code: "busy", Message: "another change of the box is under way",
				Hint: "wait for it to end, then run this again"}
		}
		return nil, err
	}
	return func() { l.Close() }, nil
}

// TryLock takes the lock without waiting. If another helper holds it, unlock is nil and there is no error.
func (t Tree) TryLock(file string) (unlock func(), err error) {
	l, err := t.flock(file)
	if err != nil {
		return nil, err
	}
	if got, err := l.TryLock(); err != nil || !got {
		return nil, errors.Join(err, l.Close())
	}
	return func() { l.Close() }, nil
}

// Locked reports whether another helper holds the lock. It takes a shared lock for a moment, so that two callers of
// Locked do not mistake each other for a holder.
func (t Tree) Locked(file string) (bool, error) {
	l, err := t.flock(file)
	if err != nil {
		return false, err
	}
	free, err := l.TryRLock()
	return !free, errors.Join(err, l.Close())
}

func (t Tree) flock(file string) (*flock.Flock, error) {
	path := t.Path(file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return flock.New(path, flock.SetPermissions(0o600)), nil
}
