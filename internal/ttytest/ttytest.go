// Package ttytest runs a program on a terminal whose screen tests can read: a pty with a terminal emulator at its other
// end. It waits for what is to be seen, never for time.
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

// T is what is needed of a test. Pictures are taken without one.
type T interface {
	Helper()
	Cleanup(func())
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// Terminal is a program on a pty whose screen is read through a terminal emulator. One goroutine uses it.
type Terminal struct {
	// Patience is how long each wait may last. A minute, unless it is set: what is waited for comes at once, and the
	// machine may be busy.
	Patience time.Duration

	t     T
	cmd   *exec.Cmd
	tty   *os.File    // our end of the pty
	found *term.State // before the program
	ended chan struct{}
	err   error // of the program, when it has ended
	heard int   // bytes of raw that Hears is past

	fresh  chan struct{} // holds a token after output
	mu     sync.Mutex    // of what follows
	screen *vt.Emulator
	modes  map[int]bool // DEC private modes that are set
	raw    strings.Builder
}

// environment describes the terminal. That of the test itself is none of the program's business.
var environment = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=", "LC_CTYPE=", "NO_COLOR=", "COLORTERM=", "TERM_PROGRAM=", "TMUX=",
	"SSH_TTY=", "SSH_CONNECTION=", "ACCESSIBLE=", "HERMES_BOX_THEME="}

// Start starts a program on a terminal of w columns and h lines; env goes last into its environment. It is killed at the
// end of the test, if it runs on.
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
	go io.Copy(tm.tty, tm.screen) // what the emulator answers to queries
	t.Cleanup(func() {
		select {
		case <-tm.ended:
		default:
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

// HearSignals has programs that are started from now on hear the signals of keys, as on a terminal. Where the test itself
// runs in the background of a script, or under nohup, they would inherit that these are ignored.
func HearSignals() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // what is caught here is not ignored by children
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
		return unix.SetNonblock(fd, true) // else it is not closed while it is read
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

// read takes in what the program writes, to the end.
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

// control does something to our end of the pty. Its Fd would be a blocking one.
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

// Type sends keys in one write, as fast typing does, and waits until the texts are on the screen together. Type what a
// program is to read once it shows that it reads: what comes while it changes the modes of its terminal may be lost.
func (t *Terminal) Type(keys string, shows ...string) {
	t.t.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
	if len(shows) > 0 {
		t.Shows(shows...)
	}
}

// Resize makes the terminal larger or smaller.
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

// HangUp takes the terminal away, as closing its window does.
func (t *Terminal) HangUp() { t.tty.Close() }

// Ends waits for the program to end, and for nothing of it to have the terminal, and gives its status.
func (t *Terminal) Ends(within time.Duration) int {
	t.t.Helper()
	select {
	case <-t.ended:
	case <-time.After(within):
		t.hangs(fmt.Sprint("it has not ended after ", within))
	}
	var exit *exec.ExitError
	if t.err != nil && !errors.As(t.err, &exit) {
		t.t.Fatal(t.err)
	}
	return t.cmd.ProcessState.ExitCode()
}

// hangs ends the test over a program that does not do what is waited for, and has one written in Go tell what all its
// goroutines do.
func (t *Terminal) hangs(why string) {
	t.t.Helper()
	screen, written := t.Text(), t.Output()[t.heard:]
	t.heard = len(t.Output())
	_ = t.cmd.Process.Signal(syscall.SIGABRT) // if it has ended, it has nothing to tell
	select {
	case <-t.ended:
	case <-time.After(5 * time.Second):
	}
	t.t.Fatalf("%s:\n%s\n%q\n%s", why, screen, written, t.Output()[t.heard:])
}
