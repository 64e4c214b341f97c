package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// build is a running step of prepare: its directories and its log.
type build struct {
	lab   *lab
	dir   string   // for the product; renamed to its final name when the step succeeds
	tmp   string   // temporary files; removed at the end
	log   *os.File // output of commands
	built bool     // the step has built something
}

// cmd is one program to run.
type cmd struct {
	argv []string
	dir  string
	env  []string // in addition to the environment of this process
}

// exec runs a program with its output in the step's log. If the program fails, the error has its name and the end of
// its output. If ctx has ended, the error is that of ctx.
func (b *build) exec(ctx context.Context, c cmd) error {
	_, err := b.start(ctx, c, b.log)
	return err
}

// output runs a program and returns its stdout.
func (b *build) output(ctx context.Context, c cmd) ([]byte, error) {
	var out bytes.Buffer
	_, err := b.start(ctx, c, &out)
	return out.Bytes(), err
}

func (b *build) start(ctx context.Context, c cmd, stdout io.Writer) (*exec.Cmd, error) {
	fmt.Fprintf(b.log, "$ %s\n", strings.Join(c.argv, " "))
	x := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	x.Dir, x.Env = c.dir, append(append(os.Environ(), "LC_ALL=C.UTF-8", "TMPDIR="+b.tmp), c.env...)
	last := &tail{}
	x.Stderr = io.MultiWriter(b.log, last)
	x.Stdout = stdout
	if stdout == io.Writer(b.log) {
		x.Stdout = x.Stderr // one stream keeps the lines in order
	}
	// An interrupt also ends the processes that the program has started.
	x.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	x.Cancel = func() error { return syscall.Kill(-x.Process.Pid, syscall.SIGTERM) }
	x.WaitDelay = 10 * time.Second
	if err := x.Run(); err != nil {
		if ctx.Err() != nil {
			return x, ctx.Err()
		}
		return x, fmt.Errorf("%s: %w\n%s\nhint: all of its output is in %s", filepath.Base(c.argv[0]), err, last, b.log.Name())
	}
	return x, nil
}

// tail keeps the last bytes written to it.
type tail struct{ data []byte }

const tailSize = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if len(t.data) > 2*tailSize {
		t.data = bytes.Clone(t.data[len(t.data)-tailSize:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	return strings.TrimSpace(string(t.data[max(0, len(t.data)-tailSize):]))
}

func firstLine(out []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

// checkout finds the directory of hermes-box's go.mod. The current directory must be in the checkout.
func checkout(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	dir := filepath.Dir(firstLine(out))
	if _, err := os.Stat(filepath.Join(dir, "e2e", "limactl", "go.mod")); err != nil {
		return "", fmt.Errorf("%s is not the checkout (run the lab inside it): %w", dir, err)
	}
	return dir, nil
}
