package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"hermes-box/ops/fault"
)

// dead returns the pid of a process that has ended.
func dead(t *testing.T) int {
	t.Helper()
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid
}

// Holder returns the operation that has the lock, even if it has not yet written its name into the lock, and never the
// previous holder.
func TestHolderOfAnOperationThatBegins(t *testing.T) {
	h := open(t)
	for name, before := range map[string]string{
		"the lock names nobody": "", "the lock names a killed process": fmt.Sprintf(`{"pid":%d,"command":"stop","started":"2026-01-01T00:00:00Z"}`, dead(t)),
	} {
		if err := os.WriteFile(h.lock("main"), []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		f := flock.New(h.lock("main"))
		if ok, err := f.TryLock(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		time.AfterFunc(lockWait/10, func() {
			if err := note(h.lock("main"), holder("start")); err != nil {
				t.Error(err)
			}
		})
		if who := h.Holder("main"); who == nil || who.PID != os.Getpid() || who.Command != "start" || who.Started.IsZero() {
			t.Errorf("%s: %+v", name, who)
		}
		f.Unlock()
	}
}

// A killed operation is not reported as under way, even if the system has not released its lock yet.
func TestHolderThatWasKilled(t *testing.T) {
	h := open(t)
	if err := os.WriteFile(h.lock("main"), fmt.Appendf(nil, `{"pid":%d,"command":"stop","started":"2026-01-01T00:00:00Z"}`, dead(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	f := flock.New(h.lock("main"))
	if ok, err := f.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	time.AfterFunc(lockWait/10, func() { f.Unlock() })
	if who := h.Holder("main"); who != nil {
		t.Errorf("%+v", who)
	}
}

// A forced operation gets the lock even if nothing can be written, or if something that is not a lock is at the path of
// the lock. Two forced operations still exclude each other.
func TestLockForced(t *testing.T) {
	for name, spoil := range map[string]func(h Home) error{
		"all is well":              func(Home) error { return nil },
		"a directory at the path":  func(h Home) error { return os.Mkdir(h.lock("main"), 0o700) },
		"a symlink at the path":    func(h Home) error { return os.Symlink(filepath.Join(string(h), "other"), h.lock("main")) },
		"a fifo at the path":       func(h Home) error { return syscall.Mkfifo(h.lock("main"), 0o600) },
		"a file in place of locks": func(h Home) error { return replaceWithFile(filepath.Join(string(h), "locks")) },
		"a file in place of logs":  func(h Home) error { return replaceWithFile(filepath.Join(string(h), "logs")) },
	} {
		h := open(t)
		if err := spoil(h); err != nil {
			t.Fatal(err)
		}
		first, err := OpenForced(string(h)).LockForced("main", "destroy")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := OpenForced(string(h)).LockForced("main", "destroy"); fault.CodeOf(err) != fault.Busy {
			t.Errorf("%s: a second forced operation: %v", name, err)
		}
		if err := first.Unlock(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := h.LockForced("main", "destroy")
		if err != nil {
			t.Errorf("%s: after the first one has ended: %v", name, err)
		} else {
			again.Unlock()
		}
		if _, err := os.Stat(filepath.Join(string(h), "other")); err == nil {
			t.Errorf("%s: the target of the link was created", name)
		}
	}
}

// A forced operation is refused while another one holds the lock.
func TestLockForcedIsRefusedWhileTheLockIsHeld(t *testing.T) {
	h := open(t)
	held, err := h.Lock("main", "start")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	if _, err := h.LockForced("main", "destroy"); fault.CodeOf(err) != fault.Busy {
		t.Error(err)
	}
}

func replaceWithFile(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.WriteFile(dir, nil, 0o600)
}
