package limactl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/limactl/child"
)

// A verb calls limactl several times. If limactl does not answer, or prints slowly without end, all calls together
// wait for one limit, and the error names the program and the command to try by hand.
func TestSilentLimactlHasOneLimit(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"sleeps":   "exec sleep 600",
		"dribbles": "while :; do echo x; sleep 0.1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fake(t, stage(t), script)
			const limit = 500 * time.Millisecond
			ctx := WithPatience(t.Context(), limit)
			begin := time.Now()
			_, first := c.Instance(ctx, "main")
			if !errors.Is(first, ErrTimeout) || !strings.Contains(first.Error(), "limactl list") || !strings.Contains(first.Error(), "pid ") {
				t.Fatalf("got %v", first)
			}
			var hint interface{ Recovery() string }
			if !errors.As(first, &hint) || hint.Recovery() != "LIMA_HOME="+c.Home()+" "+c.config.Program+" list "+"'"+listFormat+"' main" {
				t.Errorf("hint %q", hint.Recovery())
			}
			for range 10 {
				if _, err := c.Version(ctx); !errors.Is(err, ErrTimeout) {
					t.Errorf("got %v", err)
				}
			}
			if took := time.Since(begin); took > limit+child.Grace {
				t.Errorf("took %v", took)
			}
		})
	}
}

// The hint can be pasted into a shell, whatever characters the path of LIMA_HOME has.
func TestHintIsQuoted(t *testing.T) {
	c := New(Config{Home: "/tmp/my home/it's"})
	out, err := exec.Command("sh", "-c", strings.Replace(c.CommandLine("list"), "limactl list", "printenv LIMA_HOME", 1)).Output()
	if err != nil || string(out) != c.Home()+"\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// If limactl panics, the error has the reason, which limactl prints first, and not the stacks.
func TestPanicOfLimactl(t *testing.T) {
	c := fake(t, stage(t), `echo 'panic: $HOME is not defined' >&2; echo >&2; echo 'goroutine 1 [running]:' >&2; i=0; while [ $i -lt 50 ]; do echo '	/lima/cmd/main.go:12 +0x1d' >&2; i=$((i+1)); done; exit 2`)
	_, err := c.Instance(t.Context(), "main")
	if err == nil || !strings.Contains(err.Error(), "$HOME is not defined") || strings.Contains(err.Error(), "main.go") {
		t.Errorf("got %v", err)
	}
}

const limitVariable = "HERMES_BOX_LIMACTL_TEST_LIMIT"

// Running out of file descriptors is reported as a limit of this machine, not as a failure of limactl.
func TestTooManyOpenFiles(t *testing.T) {
	if home := os.Getenv(limitVariable); home != "" {
		if _, _, err := os.Pipe(); err != nil { // so that Go's poller opens its descriptors before the limit is reached
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 20, Max: 20}); err != nil {
			t.Fatal(err)
		}
		for err := error(nil); err == nil; {
			_, err = syscall.Dup(2)
		}
		_, err := New(Config{Program: "/bin/true", Home: home}).Instance(context.Background(), "main")
		var limit *child.ResourceError
		if !errors.As(err, &limit) || !errors.Is(err, syscall.EMFILE) || limit.Recovery() != "ulimit -n 1024" {
			t.Fatalf("got %v", err)
		}
		if state := New(Config{Home: home}).Peek("main"); state != Degraded {
			t.Errorf("an instance whose files cannot be read is %s", state)
		}
		return
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "main"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"lima.yaml": "", "ha.pid": fmt.Sprint(os.Getpid())} {
		if err := os.WriteFile(filepath.Join(home, "main", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTooManyOpenFiles$")
	cmd.Env = append(os.Environ(), limitVariable+"="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
