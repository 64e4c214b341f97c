package machine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// snapshotVariable makes this program take a snapshot of a directory and wait. snapshotDirVariable names the directory
// in which a snapshot keeps the blocks that programs overwrite.
const (
	snapshotVariable    = "HERMES_BOX_SNAPSHOT_TEST"
	snapshotDirVariable = "HERMES_BOX_SNAPSHOT_TEST_DIR"
)

// mountMapped mounts a small ext4 through device mapper. It skips the test unless root runs it, dmsetup is
// installed and the kernel has device mapper. `make e2e` runs the tests that call mountMapped in a box, as root.
func mountMapped(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("dmsetup"); err != nil || os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: needs root and dmsetup")
	}
	if out, err := exec.Command("dmsetup", "targets").CombinedOutput(); err != nil {
		t.Skipf("NOT CHECKED: this kernel has no device mapper: %s", out)
	}
	dir := t.TempDir()
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "at")
	must := func(argv ...string) string {
		t.Helper()
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v %s", argv, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	must("mkdir", at)
	must("truncate", "-s", "256M", image)
	must("mkfs.ext4", "-q", image)
	loop := must("losetup", "--find", "--show", image)
	t.Cleanup(func() { must("losetup", "-d", loop) })
	device, err := New().MapData(t.Context(), loop)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must("dmsetup", "remove", "--retry", dataMap) })
	must("mount", device, at)
	t.Cleanup(func() { must("umount", at) })
	if again, err := New().MapData(t.Context(), loop); err != nil || again != device {
		t.Fatalf("mapped again: %q, %v", again, err)
	}
	return at
}

// noSnapshot checks that nothing of a snapshot is left.
func noSnapshot(t *testing.T) {
	t.Helper()
	for _, name := range []string{originMap, snapshotMap} {
		if have, err := mapped(name); err != nil || have != "" {
			t.Errorf("%s is %q, %v", name, have, err)
		}
	}
	out, err := exec.Command("dmsetup", "table", dataMap).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " linear ") {
		t.Errorf("the table of the data disk: %s %v", out, err)
	}
	if out, _ := exec.Command("losetup", "--list", "--noheadings", "--output", "BACK-FILE").Output(); bytes.Contains(out, []byte("(deleted)")) {
		t.Errorf("loop devices: %s", out)
	}
}

// A snapshot does not change while a program writes, and is gone after End.
func TestSnapshot(t *testing.T) {
	at := mountMapped(t)
	file := filepath.Join(at, "file")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New().Snapshot(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("frozen for at most %v", s.Frozen)
	if err := errors.Join(os.WriteFile(file, []byte("after!"), 0o600), os.WriteFile(file+"2", nil, 0o600), syncAt(at)); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(s.Root, "file")); err != nil || string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(s.Root, "file2")); err == nil {
		t.Error("a later file is in the snapshot")
	}
	if err := os.WriteFile(filepath.Join(s.Root, "file3"), nil, 0o600); err == nil {
		t.Error("the snapshot can be written to")
	}
	if _, err := New().Snapshot(t.Context(), at); err == nil || !strings.Contains(err.Error(), "another backup") {
		t.Error("a second snapshot:", err)
	}
	if full, err := s.Full(t.Context()); err != nil || full {
		t.Errorf("full: %v, %v", full, err)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	noSnapshot(t)
	if got, err := os.ReadFile(file); err != nil || string(got) != "after!" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

// If the process that made a snapshot is killed, the process that keeps it removes the snapshot. If the keeper is
// killed, End removes it. If both are killed, the next call of Snapshot removes it.
func TestSnapshotOfKilled(t *testing.T) {
	at := mountMapped(t)
	t.Run("maker", func(t *testing.T) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), snapshotVariable+"="+at)
		out, err := cmd.StdoutPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "made\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		_, _ = io.Copy(io.Discard, out)
		waitGone(t)
		noSnapshot(t)
	})
	killKeeper := func() {
		if out, err := exec.Command("pkill", "-KILL", "-x", "-f", ".* "+snapshotArg+" .*").CombinedOutput(); err != nil {
			t.Fatalf("pkill: %v %s", err, out)
		}
	}
	t.Run("keeper", func(t *testing.T) {
		s, err := New().Snapshot(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		killKeeper()
		if err := s.End(); err != nil {
			t.Error(err)
		}
		noSnapshot(t)
	})
	t.Run("both", func(t *testing.T) {
		if _, err := New().makeSnapshot(t.Context(), at); err != nil { // as if both were killed after this
			t.Fatal(err)
		}
		s, err := New().Snapshot(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.End(); err != nil {
			t.Error(err)
		}
		noSnapshot(t)
	})
}

// A snapshot that is canceled while it is made is removed.
func TestSnapshotCanceled(t *testing.T) {
	at := mountMapped(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
			if have, err := mapped(originMap); err != nil || have != "" {
				break
			}
		}
		cancel()
	}()
	if _, err := New().Snapshot(ctx, at); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	noSnapshot(t)
}

// waitGone waits until the process that keeps a snapshot has removed it.
func waitGone(t *testing.T) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		origin, err := mapped(originMap)
		if err != nil {
			t.Fatal(err)
		}
		if origin == "" {
			return
		}
	}
	t.Error("the snapshot is still there")
}

// A snapshot without room is reported as full, and the data disk is not harmed.
func TestSnapshotFull(t *testing.T) {
	at := mountMapped(t)
	small := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=600M", "none", small).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", small).Run() })
	t.Setenv(snapshotDirVariable, small)
	s, err := New().Snapshot(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 150 {
		if err := os.WriteFile(filepath.Join(at, fmt.Sprint(n)), bytes.Repeat([]byte{byte(n)}, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syncAt(at); err != nil {
		t.Error(err)
	}
	if full, err := s.Full(t.Context()); err != nil || !full {
		t.Errorf("full: %v, %v", full, err)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	noSnapshot(t)
	if got, err := os.ReadFile(filepath.Join(at, "149")); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{149}, 1<<20)) {
		t.Error("the data disk is harmed:", err)
	}
}
