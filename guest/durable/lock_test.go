package durable

import (
	"context"
	"errors"
	"testing"

	"github.com/gofrs/flock"

	"hermes-box/guest/protocol"
)

// Locked reports whether the lock is held. Other callers of Locked do not count.
func TestLocked(t *testing.T) {
	tree := Tree{Root: t.TempDir()}
	const file = "/var/lib/mutex"
	unlock, err := tree.TryLock(file)
	if err != nil || unlock == nil {
		t.Fatalf("a free lock was not taken: %v", err)
	}
	unlock()
	other := flock.New(tree.Path(file))
	for name, c := range map[string]struct {
		take func() error
		want bool
	}{
		"nobody holds it":          {func() error { return nil }, false},
		"another caller of Locked": {other.RLock, false},
		"another helper holds it":  {other.Lock, true},
	} {
		if err := c.take(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := tree.Locked(file); got != c.want || err != nil {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
		if err := other.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

// While the lock is held, TryLock returns neither a function nor an error, and Lock with a canceled context returns the
// error of the context.
func TestLockIsHeld(t *testing.T) {
	tree := Tree{Root: t.TempDir()}
	unlock, err := tree.Lock(t.Context(), "/mutex")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := tree.TryLock("/mutex"); again != nil || err != nil {
		t.Errorf("taken twice: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var known *protocol.Error
	if _, err := tree.Lock(ctx, "/mutex"); !errors.Is(err, context.Canceled) || errors.As(err, &known) {
		t.Errorf("%v", err)
	}
	unlock()
	if unlock, err = tree.TryLock("/mutex"); unlock == nil || err != nil {
		t.Fatalf("not free after unlock: %v", err)
	}
	unlock()
}
