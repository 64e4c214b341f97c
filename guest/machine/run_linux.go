package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// SearchPath is the PATH of the helper, and of every program that it runs without an Env.
	SearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

	defaultTimeout = time.Minute
	killDelay      = 5 * time.Second // from SIGTERM to SIGKILL
	maxOutput      = 4 << 20
)

// Run runs one program to its end and returns what it printed on stdout and stderr together; the beginning of a long
// output is dropped. A status other than 0 is an *ExitError. When Cmd.Timeout has passed or ctx ends, the program and
// its children are killed.
func (m *Machine) Run(ctx context.Context, c Cmd) ([]byte, error) {
	fail := func(status int, output []byte, err error) ([]byte, error) {
		line := strings.TrimSpace(c.Path + " " + strings.Join(c.Args, " "))
		return output, &ExitError{Cmd: line, Status: status, Output: lastLines(output), Err: err}
	}
	limit := c.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %s", limit))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = c.Dir, c.Stdin, killDelay
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	home := "/root"
	if c.User != "" {
		cred, dir, err := credential(c.User)
		if err != nil {
			return fail(-1, nil, err)
		}
		cmd.SysProcAttr.Credential, home = cred, dir
	}
	cmd.Env = c.Env
	if cmd.Env == nil {
		cmd.Env = []string{"PATH=" + SearchPath, "HOME=" + home, "LANG=C.UTF-8"}
	}
	var kept tail
	cmd.Stdout, cmd.Stderr = &kept, &kept
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

	// The kernel sends Pdeathsig when the thread that started the program ends, so this goroutine keeps its thread
	// until Wait returns.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return fail(-1, nil, err)
	}
	err := cmd.Wait()
	if ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay) {
		// Kill the remaining processes of the group. Its id is not reused while a process is in the group.
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	out := kept.bytes()
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		return fail(-1, out, context.Cause(ctx))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return fail(exit.ExitCode(), out, err)
	}
	return fail(-1, out, err)
}

// credential returns the ids of a user, and its home directory.
func credential(name string) (*syscall.Credential, string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, "", err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, "", fmt.Errorf("user %s: uid %q", name, u.Uid)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, "", fmt.Errorf("user %s: gid %q", name, u.Gid)
	}
	cred := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, "", err
	}
	for _, g := range groups {
		if id, err := strconv.ParseUint(g, 10, 32); err == nil {
			cred.Groups = append(cred.Groups, uint32(id))
		}
	}
	return cred, u.HomeDir, nil
}

// tail keeps at least the last maxOutput bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	t.buf.Write(p)
	if over := t.buf.Len() - 2*maxOutput; over > 0 {
		t.buf.Next(t.buf.Len() - maxOutput)
	}
	return n, nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Bytes()
}

// lastLines returns the end of an output, at most 20 lines and 4 KiB.
func lastLines(out []byte) string {
	text := strings.TrimRight(string(out), "\n")
	if len(text) > 4096 {
		text = text[len(text)-4096:]
	}
	lines := strings.Split(text, "\n")
	if len(lines) > 20 {
		lines = lines[len(lines)-20:]
	}
	return strings.ToValidUTF8(strings.Join(lines, "\n"), "?")
}
