package machine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	m := New()
	out, err := m.Run(t.Context(), Cmd{Path: "sh", Args: []string{"-c", "echo out; echo err >&2; cat; pwd; echo $LANG"},
		Dir: "/", Stdin: strings.NewReader("in\n")})
	if err != nil || string(out) != "out\nerr\nin\n/\nC.UTF-8\n" {
		t.Errorf("%q, %v", out, err)
	}
	var stream bytes.Buffer
	out, err = m.Run(t.Context(), Cmd{Path: "sh", Args: []string{"-c", "echo out; echo err >&2"}, Stdout: &stream})
	if err != nil || stream.String() != "out\n" || string(out) != "err\n" {
		t.Errorf("streamed %q, returned %q, %v", stream.String(), out, err)
	}
	_, err = m.Run(t.Context(), Cmd{Path: "sh", Args: []string{"-c", "seq 100; exit 7"}})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Status != 7 || strings.Count(exit.Output, "\n") != 19 || !strings.HasSuffix(exit.Output, "\n100") {
		t.Errorf("%v, %+v", err, exit)
	}
	_, err = m.Run(t.Context(), Cmd{Path: "/no/such/program"})
	if !errors.As(err, &exit) || exit.Status != -1 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %+v", err, exit)
	}
	if _, err = m.Run(t.Context(), Cmd{Path: "true", User: "no-such-user"}); !errors.As(err, &exit) || exit.Status != -1 {
		t.Errorf("%v", err)
	}
}

// When a command is killed, its children are killed too.
func TestRunEnds(t *testing.T) {
	for name, c := range map[string]Cmd{
		"timeout":  {Timeout: 300 * time.Millisecond},
		"canceled": {Timeout: -1},
	} {
		pidFile := filepath.Join(t.TempDir(), "pid")
		if err := syscall.Mkfifo(pidFile, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c.Path, c.Args = "sh", []string{"-c", `sleep 1000 & echo $! >"$0"; wait`, pidFile}
		done := make(chan error, 1)
		go func() {
			_, err := New().Run(ctx, c)
			done <- err
		}()
		text, err := os.ReadFile(pidFile) // waits until the child runs
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if c.Timeout < 0 {
			cancel()
		}
		err = <-done
		var exit *ExitError
		if !errors.As(err, &exit) || exit.Status != -1 {
			t.Errorf("%s: %v", name, err)
		}
		if c.Timeout > 0 && !strings.Contains(err.Error(), "did not end within 300ms") {
			t.Errorf("%s: %v", name, err)
		}
		if !gone(pid) {
			t.Errorf("%s: its child %d still runs", name, pid)
		}
	}
}

// gone waits until a killed process has ended. A zombie counts as ended, because init may be slow.
func gone(pid int) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return true
		}
	}
	return false
}

func TestTail(t *testing.T) {
	var k tail
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 20 {
		k.Write(chunk)
	}
	k.Write([]byte("end"))
	if n := len(k.bytes()); n < maxOutput || n > 2*maxOutput || !bytes.HasSuffix(k.bytes(), []byte("end")) {
		t.Errorf("kept %d bytes", n)
	}
}
