package store

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hermes-box/ops/fault"
)

// On a full disk a box can still be locked, but by only one process at a time.
func TestLockOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skip("NOT CHECKED: a small disk needs root: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	h, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	first, err := h.Lock("main", "start")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 10, 1} { // to the last byte
		for err = nil; err == nil; {
			_, err = io.WriteString(f, strings.Repeat("x", size))
		}
		if !noSpace(err) {
			t.Fatal(err)
		}
	}
	held, err := h.Lock("main", "backup")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Lock("main", "stop"); fault.CodeOf(err) != fault.Busy {
		t.Errorf("a second lock: %v", err)
	}
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
	hint := fault.HintOf(unwritable(dir, &os.PathError{Op: "write", Path: dir, Err: syscall.ENOSPC}))
	if !strings.Contains(hint, "df -h "+dir) {
		t.Errorf("the hint for a full disk is %q", hint)
	}
}
