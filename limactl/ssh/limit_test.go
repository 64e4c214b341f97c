package ssh_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"hermes-box/limactl/child"
	"hermes-box/limactl/ssh"
)

// freeVariable makes TestTooManyOpenFiles run in a process that can open that many more files.
const freeVariable = "HERMES_BOX_SSH_TEST_FREE"

// instanceVariable names the directory of the instance for that process.
const instanceVariable = "HERMES_BOX_SSH_TEST_INSTANCE"

// If ssh cannot be started because too many files are open, the error names the limit of this machine. It does not say
// that the box cannot be reached. It is the same at each pipe that a start of ssh opens.
func TestTooManyOpenFiles(t *testing.T) {
	if free := os.Getenv(freeVariable); free != "" {
		tooManyOpenFiles(t, free, os.Getenv(instanceVariable))
		return
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh.config"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, free := range []int{0, 2, 4, 6} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTooManyOpenFiles$")
		cmd.Env = append(os.Environ(), freeVariable+"="+strconv.Itoa(free), instanceVariable+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%d files left: %v\n%s", free, err, out)
		}
	}
}

func tooManyOpenFiles(t *testing.T, free, dir string) {
	n, err := strconv.Atoi(free)
	if err != nil {
		t.Fatal(err)
	}
	c := &ssh.Client{Program: "/bin/true", Dir: func(string) (string, error) { return dir, nil }}
	_ = c.Exec(t.Context(), box, ssh.Exec{Args: []string{"true"}}) // so that Go opens its own descriptors before the limit is reached
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 40, Max: 40}); err != nil {
		t.Fatal(err)
	}
	var all []int
	for {
		fd, err := syscall.Dup(2)
		if err != nil {
			break
		}
		all = append(all, fd)
	}
	for _, fd := range all[:n] {
		syscall.Close(fd)
	}
	err = c.Exec(context.Background(), box, ssh.Exec{Args: []string{"true"}})
	var limit *child.ResourceError
	if !errors.As(err, &limit) || !errors.Is(err, syscall.EMFILE) || err.Error() != "this machine cannot run true: too many open files" {
		t.Fatalf("got %v", err)
	}
}

// A shared connection that hangs is found in two seconds.
func TestLimits(t *testing.T) {
	for name, limit := range ssh.Limits {
		if limit <= 0 || limit.Seconds() > 2 {
			t.Errorf("%s is %v, want at most 2s", name, limit)
		}
	}
}
