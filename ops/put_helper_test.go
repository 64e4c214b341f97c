package ops

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Two programs can replace the helper at the same time: each stores its own bytes, complete, and leaves no temporary
// file. If both used the same temporary name, the slower one would fail or store the bytes of the other.
func TestTwoProgramsPutTheHelper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "libexec")
	helper := filepath.Join(dir, "helper")
	put := func(content string) (*exec.Cmd, io.WriteCloser) {
		t.Helper()
		sum := sha256.Sum256([]byte(content))
		cmd := exec.Command("sh", "-c", putHelper, "sh", hex.EncodeToString(sum[:]), helper)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, in
	}
	files := func() (names []string) {
		names, _ = filepath.Glob(dir + "/*")
		return names
	}
	const first, second = "the helper of the first", "the second's"
	slow, in := put(first)
	if _, err := io.WriteString(in, first[:8]); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); len(files()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first program has not begun to write")
		}
	}
	quick, all := put(second)
	if _, err := io.WriteString(all, second); err != nil {
		t.Fatal(err)
	}
	all.Close()
	if err := quick.Wait(); err != nil {
		t.Errorf("the second program: %v", err)
	}
	if got, err := os.ReadFile(helper); string(got) != second {
		t.Errorf("helper after the second program: %q, %v", got, err)
	}
	if _, err := io.WriteString(in, first[8:]); err != nil {
		t.Error(err)
	}
	in.Close()
	if err := slow.Wait(); err != nil {
		t.Errorf("the first program: %v", err)
	}
	got, err := os.ReadFile(helper)
	if info, _ := os.Stat(helper); err != nil || string(got) != first || info.Mode() != 0o755 {
		t.Errorf("helper after the first program: %q, %v, %v", got, info, err)
	}
	if left := files(); len(left) != 1 {
		t.Errorf("temporary files are left: %q", left)
	}

	// Bytes with a wrong digest are not stored.
	cmd := exec.Command("sh", "-c", putHelper, "sh", hex.EncodeToString(make([]byte, sha256.Size)), helper)
	cmd.Stdin = bytes.NewReader([]byte("damaged"))
	if err := cmd.Run(); err == nil {
		t.Error("damaged bytes were stored")
	}
	if got, _ := os.ReadFile(helper); string(got) != first || len(files()) != 1 {
		t.Errorf("after damaged bytes: %q, %q", got, files())
	}
}
