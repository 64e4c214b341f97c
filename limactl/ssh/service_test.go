package ssh_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
)

// serveIn starts the service of an instance, and returns its process. tmux is the TMUX_TMPDIR of the service.
func serveIn(t *testing.T, c *limactl.Client, tmux string) *os.Process {
	t.Helper()
	root := rehearsal.GuestDir(c.Home(), box)
	socket := rehearsal.ServiceSocket(c.Home(), box)
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, protocol.Serve)
	cmd.Env = append(os.Environ(), helperVariable+"=1", rootVariable+"="+root, "TMUX_TMPDIR="+tmux)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			return cmd.Process
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// The service answers the verbs that need no privilege, even without a helper. All other verbs start a helper.
func TestServiceAnswers(t *testing.T) {
	c := running(t)
	c.Helper = "/no/helper"
	serveIn(t, c, t.TempDir())
	var hello protocol.Hello
	if err := c.Call(t.Context(), box, ssh.Call{Verb: protocol.VerbHello}, &hello); err != nil || hello.Protocol != protocol.Version {
		t.Errorf("hello: %+v, %v", hello, err)
	}
	var st protocol.Status
	if err := c.Call(t.Context(), box, ssh.Call{Verb: protocol.VerbStatus}, &st); err != nil || st.CPUs == 0 {
		t.Errorf("status: %+v, %v", st, err)
	}
	var missing *ssh.HelperError
	if err := c.Call(t.Context(), box, ssh.Call{Verb: protocol.VerbVersions}, nil); !errors.As(err, &missing) {
		t.Errorf("versions: %v", err)
	}
}

// Without the service, and while the service hangs, the helper is started and answers, even if login scripts print
// something. The same ssh master is used throughout.
func TestServiceThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	c := withHelper(t, running(t))
	inject(t, c, rehearsal.LoginNoise)
	var mu sync.Mutex
	var ran []string
	c.Client.Log = func(_ context.Context, r ssh.Run) {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, strings.Join(r.Args, " "))
	}
	hello := func(service bool) {
		t.Helper()
		mu.Lock()
		ran = nil
		mu.Unlock()
		var hello protocol.Hello
		if err := c.Call(t.Context(), box, ssh.Call{Verb: protocol.VerbHello}, &hello); err != nil || hello.Protocol != protocol.Version {
			t.Errorf("%+v, %v", hello, err)
		}
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(ran, "\n")
		if strings.Contains(all, " channel ") == service || strings.Contains(all, "-O stop") {
			t.Errorf("with the service %v: ran\n%s", service, all)
		}
	}
	hello(false)
	service := serveIn(t, c, t.TempDir())
	hello(true)
	// The socket is removed while the master still forwards it.
	if err := os.Remove(filepath.Join(c.Dir(box), "helper.sock")); err != nil {
		t.Fatal(err)
	}
	hello(true)
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: only /proc shows that a process has stopped")
	}
	if err := service.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for stat := ""; !strings.Contains(stat, ") T "); time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", service.Pid))
		if err != nil {
			t.Fatal(err)
		}
		stat = string(data)
	}
	hello(false)
}

// If the session exists, attach runs tmux directly. Otherwise it runs tm, with the terminfo entry of the terminal.
func TestAttachThroughTheService(t *testing.T) {
	c := running(t)
	c.Helper = "/no/helper"
	dir, err := os.MkdirTemp("", "hb") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	serveIn(t, c, dir)
	attach := func() string {
		t.Helper()
		cmd, err := c.Attach(t.Context(), box, ssh.Terminal{Name: "xterm-256color", Terminfo: func() []byte { return []byte("entry") }})
		if err != nil {
			t.Fatal(err)
		}
		return cmd.Args[len(cmd.Args)-1]
	}
	if text := attach(); !strings.Contains(text, "exec tm --terminfo=ZW50cnk=") {
		t.Errorf("without a session: %s", text)
	}
	socket := filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), "default")
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if text := attach(); !strings.HasPrefix(text, "exec tmux new-session -A -s main -c ") {
		t.Errorf("with a session: %s", text)
	}
}
