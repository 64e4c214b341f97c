package simulate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hermes-box/guest/machine"
)

// The content of an attached disk outlives the machine, and another machine can mount it.
func TestDiskOutlivesTheMachine(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	table := "/dev/vda / ext4 defaults 0 1\nUUID=u-1 /data ext4 nofail 0 2\n/data/home /home none bind 0 0\n"
	newMachine := func() (*Machine, string) {
		root := t.TempDir()
		write(t, filepath.Join(root, "etc/fstab"), table)
		s := Open(root)
		if err := s.Attach("/dev/vdb", dir, 1<<30); err != nil {
			t.Fatal(err)
		}
		return s, root
	}
	s, root := newMachine()
	if d, err := s.Disk(ctx, "/dev/vdb"); err != nil || !d.Blank || d.Size != 1<<30 {
		t.Fatalf("a new disk: %+v, %v", d, err)
	}
	if err := s.Mount(ctx, filepath.Join(root, "data")); err == nil {
		t.Error("mounted a blank disk")
	}
	if err := s.Format(ctx, "/dev/vdb", "u-1", "more than 16 bytes"); err == nil {
		t.Error("formatted with a label that ext4 cannot hold")
	}
	s.Fail = func(what string) error {
		if what == "formatted /dev/vdb" {
			return errors.New("power cut")
		}
		return nil
	}
	if err := s.Format(ctx, "/dev/vdb", "u-1", "data"); err == nil {
		t.Error("no error from an interrupted format")
	}
	if d, err := Open(root).Disk(ctx, "/dev/vdb"); err != nil || d != (machine.Disk{Size: 1 << 30}) {
		t.Errorf("half a file system is %+v, %v", d, err)
	}
	s.Fail = nil
	if err := s.Format(ctx, "/dev/vdb", "u-1", "data"); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"data", "home"} {
		if err := s.Mount(ctx, filepath.Join(root, at)); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, "data/home/file"), "mine")
	}
	if u := s.Usage(filepath.Join(root, "data")); u.Used != 4 || u.Total != 1<<30 {
		t.Errorf("usage %+v", u)
	}

	s, root = newMachine()
	if d, err := s.Disk(ctx, "/dev/vdb"); err != nil || d.Blank || d.UUID != "u-1" {
		t.Fatalf("after the machine is gone: %+v, %v", d, err)
	}
	if err := s.Remount(false); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "home/file")); string(text) != "mine" {
		t.Errorf("after a boot: %q, %v", text, err)
	}
	// If the kernel finds the disk too late, nothing is mounted, and files written below /data are not on the disk.
	if err := s.Remount(true); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.MountedUUID(ctx, filepath.Join(root, "data")); got != "" {
		t.Errorf("%q is mounted", got)
	}
	write(t, filepath.Join(root, "data/other"), "x")
	if _, err := os.Stat(filepath.Join(dir, "files/other")); err == nil {
		t.Error("the file was written to the disk")
	}
	s.Full = true
	if u := s.Usage(root); u.Used*10 <= u.Total*9 {
		t.Errorf("a full disk: %+v", u)
	}
}
