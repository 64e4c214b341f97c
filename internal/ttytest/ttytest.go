// Package ttytest runs a program on a terminal whose screen tests can read: a pty with a terminal emulator at its
// other end. Tests wait for texts on the screen instead of sleeping.
package ttytest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// T is the part of testing.T that this package uses. It is an interface because the screenshots, which are not a test,
// use this package too.
type T interface {
	Helper()
	Cleanup(func())
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// Terminal is a program on a pty whose screen is read through a terminal emulator. Only one goroutine may use it.
type Terminal struct {
	// Patience is the limit of each wait. The default is a minute, because the machine may be busy.
	Patience time.Duration

	t     T
	cmd   *exec.Cmd
	tty   *os.File    // the end of the pty that the test reads
	found *term.State // the modes before the program started
	ended chan struct{}
	err   error // of the program, when it has ended
	heard int   // bytes of raw that Hears has matched already

	fresh  chan struct{} // holds a token after output
	mu     sync.Mutex    // guards the fields below
	screen *vt.Emulator
	modes  map[int]bool // DEC private modes that are set
	raw    strings.Builder
}

// environment describes the terminal, and empties the variables that describe the terminal of the test itself.
var environment = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=", "LC_CTYPE=", "NO_COLOR=", "COLORTERM=", "TERM_PROGRAM=", "TMUX=",
	"SSH_TTY=", "SSH_CONNECTION=", "ACCESSIBLE=", "HERMES_BOX_THEME="}

// Start starts a program on a terminal of w columns and h lines. env is added to its environment. If the program
// still runs at the end of the test, it is killed.
func Start(t T, cmd *exec.Cmd, w, h int, env ...string) *Terminal {
	t.Helper()
	tm := &Terminal{Patience: time.Minute, t: t, cmd: cmd, ended: make(chan struct{}), fresh: make(chan struct{}, 1),
		screen: vt.NewEmulator(w, h), modes: map[int]bool{}}
	tm.screen.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { tm.modes[m.Mode()] = true },
		DisableMode: func(m ansi.Mode) { delete(tm.modes, m.Mode()) },
	})
	cmd.Env = slices.Concat(cmd.Environ(), environment, env)
	HearSignals()
	if err := tm.start(w, h); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		tm.read()
	}()
	go func() {
		tm.err = cmd.Wait()
		<-read
		close(tm.ended)
	}()
	go io.Copy(tm.tty, tm.screen) // the emulator's answers to queries
	t.Cleanup(func() {
		if !tm.hasEnded() {
			cmd.Process.Kill()
			tm.tty.Close()
			<-tm.ended
		}
		tm.tty.Close()
		if pipe, ok := tm.screen.InputPipe().(io.Closer); ok { // Close of the emulator itself is a race with its Read
			pipe.Close()
		}
	})
	return tm
}

// HearSignals makes programs started afterwards receive the signals of keys such as ctrl-c. A test that runs in the
// background of a script, or under nohup, ignores these signals, and its programs would too.
func HearSignals() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // children do not ignore a signal that is caught here
		}
	}
}

// start starts the program on a new pty.
func (t *Terminal) start(w, h int) error {
	ours, its, err := pty.Open()
	if err != nil {
		return err
	}
	defer its.Close()
	t.tty = ours
	t.found, err = t.settings()
	if err = errors.Join(err, t.setSize(w, h), t.control(func(fd int) error {
		return unix.SetNonblock(fd, true) // otherwise a Close would wait for a Read
	})); err == nil {
		t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = its, its, its
		t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		err = t.cmd.Start()
	}
	if err != nil {
		ours.Close()
	}
	return err
}

// read reads the output of the program to its end.
func (t *Terminal) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.tty.Read(buf)
		t.mu.Lock()
		t.screen.Write(buf[:n])
		t.raw.Write(buf[:n])
		t.mu.Unlock()
		select {
		case t.fresh <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// control calls do with the file descriptor of the pty. The method Fd would make the file blocking.
func (t *Terminal) control(do func(fd int) error) error {
	conn, err := t.tty.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	return errors.Join(conn.Control(func(fd uintptr) { failed = do(int(fd)) }), failed)
}

func (t *Terminal) setSize(w, h int) error {
	return t.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(w), Row: uint16(h)})
	})
}

// Type sends keys in one write and waits until all texts are on the screen at the same time. Use it once the program
// shows that it reads: keys may be lost while it changes the modes of its terminal.
func (t *Terminal) Type(keys string, shows ...string) {
	t.t.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
	if len(shows) > 0 {
		t.Shows(shows...)
	}
}

// Resize changes the size of the terminal.
func (t *Terminal) Resize(w, h int) {
	t.t.Helper()
	t.mu.Lock()
	t.screen.Resize(w, h)
	t.mu.Unlock()
	if err := t.setSize(w, h); err != nil {
		t.t.Fatal(err)
	}
}

// Signal sends the program a signal.
func (t *Terminal) Signal(s syscall.Signal) {
	t.t.Helper()
	if err := t.cmd.Process.Signal(s); err != nil {
		t.t.Fatal(err)
	}
}

// HangUp closes the terminal, as closing its window does.
func (t *Terminal) HangUp() { t.tty.Close() }

func (t *Terminal) hasEnded() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// Ends waits until the program has ended and no child of it has the terminal, and returns its status.
func (t *Terminal) Ends(within time.Duration) int {
	t.t.Helper()
	select {
	case <-t.ended:
	case <-time.After(within):
		t.hangs(fmt.Sprint("the program has not ended after ", within))
	}
	var exit *exec.ExitError
	if t.err != nil && !errors.As(t.err, &exit) {
		t.t.Fatal(t.err)
	}
	return t.cmd.ProcessState.ExitCode()
}

// hangs fails the test because a wait for the program took too long. A Go program prints the stacks of its goroutines.
func (t *Terminal) hangs(why string) {
	t.t.Helper()
	screen, written := t.Text(), t.Output()[t.heard:]
	t.heard = len(t.Output())
	_ = t.cmd.Process.Signal(syscall.SIGABRT) // it may have ended already
	select {
	case <-t.ended:
	case <-time.After(5 * time.Second):
	}
	t.t.Fatalf("%s:\n%s\n%q\n%s", why, screen, written, t.Output()[t.heard:])
}
