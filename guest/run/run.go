// Package run runs the commands that the host asks for in the guest.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"hermes-box/guest/protocol"
)

// Statuses of a command that was not run, as shells use them.
const (
	notRunnable = 126
	notFound    = 127
)

// grace is the time between SIGHUP and SIGKILL in which a command can exit by itself.
const grace = 2 * time.Second

// Command runs a command to its end and returns its exit status, 128+n if signal n ended it. It also waits until no
// process has the command's output open any more, as ssh does. If the command cannot be run, the reason is written to
// stderr. If ctx ends, the command, its process group and its descendants get SIGHUP and, two seconds later, SIGKILL.
func Command(ctx context.Context, c protocol.Command, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	fail := func(status int, format string, args ...any) int {
		fmt.Fprintf(stderr, format+"\n", args...)
		return status
	}
	if len(c.Args) == 0 {
		return fail(notFound, "no command to run")
	}
	for _, kv := range c.Env {
		key, value, _ := strings.Cut(string(kv), "=")
		if err := os.Setenv(key, value); err != nil {
			return fail(notRunnable, "%s: %v", key, err)
		}
	}
	if len(c.Dir) > 0 {
		if err := os.Chdir(string(c.Dir)); err != nil {
			return fail(notRunnable, "%v", err)
		}
		if dir, err := filepath.Abs("."); err == nil {
			os.Setenv("PWD", dir)
		}
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = string(a)
	}
	path, err := find(args[0])
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return fail(notRunnable, "%s: permission denied", args[0])
		}
		return fail(notFound, "%s: command not found", args[0])
	}
	runtime.LockOSThread() // the kernel kills the command when the thread that started it ends
	cmd := exec.Cmd{Path: path, Args: args, SysProcAttr: attributes()}
	wait, err := start(&cmd, stdin, stdout, stderr)
	if err != nil {
		return fail(notRunnable, "%s: %v", args[0], err)
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
			end(cmd.Process.Pid)
		case <-over:
		}
	}()
	status = wait(ctx)
	close(over)
	if ctx.Err() != nil {
		<-ended
	}
	return status
}

// find looks up a program in PATH, unless its name is a path.
func find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // the kernel reports if it does not exist
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil
	}
	return path, err
}

// start starts a command on pipes. wait waits until the command has ended, and then until its output or ctx has ended.
// It returns the exit status.
func start(cmd *exec.Cmd, stdin io.Reader, stdout, stderr io.Writer) (wait func(context.Context) int, err error) {
	in, feed, err1 := os.Pipe()
	out, outEnd, err2 := os.Pipe()
	diag, diagEnd, err3 := os.Pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, outEnd, diagEnd
	err = cmd.Start()
	for _, f := range []*os.File{in, outEnd, diagEnd} {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	go func() { // may block in a Read until this process ends
		_, _ = io.Copy(feed, stdin) // an error means that the command does not read any more
		feed.Close()
	}()
	var output sync.WaitGroup
	output.Go(func() { _, _ = io.Copy(stdout, out) })
	output.Go(func() { _, _ = io.Copy(stderr, diag) })
	return func(ctx context.Context) int {
		_ = cmd.Wait() // the exit status is in ProcessState
		ended := make(chan struct{})
		go func() { output.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return ws.ExitStatus()
	}, nil
}
