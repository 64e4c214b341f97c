package guest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"hermes-box/guest/protocol"
)

// exclusive keeps every other helper from changing anything.
func (g *Guest) exclusive(ctx context.Context) (unlock func(), err error) {
	return g.hold(ctx, mutexFile, time.Minute)
}

// hold takes one of the locks between helpers, and waits so long at most for it; with no time to wait, a
// lock that is taken gives no error and no unlock. The kernel lets go of a lock when its holder dies.
func (g *Guest) hold(ctx context.Context, file string, wait time.Duration) (unlock func(), err error) {
	l, err := g.mutex(file)
	if err != nil {
		return nil, err
	}
	if wait == 0 {
		if got, err := l.TryLock(); err != nil || !got {
			return nil, errors.Join(err, l.Close())
		}
		return func() { l.Close() }, nil
	}
	limited, cancel := context.WithTimeout(ctx, wait)
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

// mutex is one of the locks between helpers, which nobody holds yet.
func (g *Guest) mutex(file string) (*flock.Flock, error) {
	path := g.Path(file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return flock.New(path, flock.SetPermissions(0o600)), nil
}
