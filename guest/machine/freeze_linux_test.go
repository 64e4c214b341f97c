package machine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// freezeVariable makes this test program freeze a directory and wait.
const freezeVariable = "HERMES_BOX_FREEZE_TEST"

func TestMain(m *testing.M) {
	dataMap, originMap, snapshotMap = "hermes-box-test-data", "hermes-box-test-origin", "hermes-box-test-snapshot"
	if snapshotDir = os.Getenv(snapshotDirVariable); snapshotDir == "" {
		snapshotDir = os.TempDir()
	}
	if isGuard, err := Guard(os.Args[1:], os.Stdin, os.Stdout); isGuard {
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(freezeVariable); path != "" {
		if _, err := New().Freeze(context.Background(), path, time.Minute); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("frozen")
		time.Sleep(time.Minute)
	}
	if path := os.Getenv(snapshotVariable); path != "" {
		if _, err := New().Snapshot(context.Background(), path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("made")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// mountExt4 mounts a small ext4 on a loop device and returns the mount point.
func mountExt4(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: needs root to mount")
	}
	dir := t.TempDir()
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "at")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"truncate", "-s", "32M", image}, {"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, at}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("NOT CHECKED: %q: %v %s", argv, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return at
}

// startWrite starts to write a file, and returns a channel that gets the result.
func startWrite(path string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(path, []byte("x"), 0o600) }()
	return done
}

func TestFreeze(t *testing.T) {
	at := mountExt4(t)
	thaw, err := New().Freeze(t.Context(), at, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	done := startWrite(filepath.Join(at, "file"))
	select {
	case err := <-done:
		t.Errorf("a write to a frozen file system ends with %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := thaw(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A file system is thawed when the process that froze it is killed.
func TestFreezeEndsWithTheProcess(t *testing.T) {
	at := mountExt4(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), freezeVariable+"="+at)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "frozen\n" {
		t.Fatalf("%q, %v", line, err)
	}
	done := startWrite(filepath.Join(at, "file"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the file system is still frozen")
	}
}

// After the limit the file system is thawed, and thaw returns an error.
func TestFreezeHasALimit(t *testing.T) {
	at := mountExt4(t)
	thaw, err := New().Freeze(t.Context(), at, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-startWrite(filepath.Join(at, "file")); err != nil {
		t.Error(err)
	}
	if err := thaw(); err == nil {
		t.Error("thaw returned no error after the limit")
	}
}
