package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/term"
)

// screen is a program on a terminal of 80x24, as a person sees it.
type screen struct {
	t      *testing.T
	cmd    *exec.Cmd
	pty    *os.File
	before *term.State

	mu      sync.Mutex // of glass and raw
	glass   *vt.Emulator
	raw     bytes.Buffer
	changed chan struct{} // told at each output, and closed at the end of it
	exited  chan error
}

// onScreen starts a command on a terminal, with what is added to its environment.
func onScreen(t *testing.T, cmd *exec.Cmd, env ...string) *screen {
	t.Helper()
	cmd.Env = append(append(cmd.Env, "TERM=xterm-256color", "SSH_CONNECTION=", "ACCESSIBLE=", "NO_COLOR="), env...)
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	x := &screen{t: t, cmd: cmd, pty: ptmx, glass: vt.NewEmulator(80, 24), changed: make(chan struct{}, 1), exited: make(chan error, 1)}
	if x.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	x.resize(80, 24)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The terminal stays open here, so that its modes can be looked at after the end.
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		tty.Close()
		ptmx.Close()
		x.glass.InputPipe().(io.Closer).Close()
	})
	go io.Copy(ptmx, x.glass) // answers to what the program asks of its terminal
	go x.read()
	go func() { x.exited <- cmd.Wait() }()
	return x
}

func (x *screen) read() {
	buf := make([]byte, 4096)
	for {
		n, err := x.pty.Read(buf)
		if n > 0 {
			x.mu.Lock()
			x.raw.Write(buf[:n])
			_, _ = x.glass.Write(buf[:n])
			x.mu.Unlock()
			select {
			case x.changed <- struct{}{}:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// text is the screen, without trailing blanks.
func (x *screen) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	lines := strings.Split(x.glass.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// resize is the person changing the size of the window.
func (x *screen) resize(cols, rows int) {
	x.t.Helper()
	x.mu.Lock()
	x.glass.Resize(cols, rows)
	x.mu.Unlock()
	if err := pty.Setsize(x.pty, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		x.t.Fatal(err)
	}
}

// all is every byte the program wrote.
func (x *screen) all() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.raw.String()
}

const patience = 30 * time.Second // the machine may be busy; what is waited for comes at once

// see waits until all the texts are on the screen together.
func (x *screen) see(texts ...string) {
	x.t.Helper()
	x.until(func() bool {
		screen := x.text()
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	}, strings.Join(texts, ", "))
}

// hear waits until a text has come after the bytes so far, and returns how many there are then.
func (x *screen) hear(from int, text string) int {
	x.t.Helper()
	x.until(func() bool { return strings.Contains(x.all()[from:], text) }, text)
	return from + strings.Index(x.all()[from:], text) + len(text)
}

func (x *screen) until(there func() bool, what string) {
	x.t.Helper()
	deadline := time.After(patience)
	for !there() {
		select {
		case <-x.changed:
		case <-deadline:
			x.t.Fatalf("waited in vain for %s; the screen is\n%s", what, x.text())
		}
	}
}

func (x *screen) typed(keys string) {
	x.t.Helper()
	if _, err := x.pty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the program to end with a status, and for the terminal to be as it was.
func (x *screen) ends(status int) {
	x.t.Helper()
	select {
	case err := <-x.exited:
		if got := x.cmd.ProcessState.ExitCode(); got != status {
			x.t.Errorf("ended with %d (%v), want %d\n%s", got, err, status, x.text())
		}
	case <-time.After(patience):
		x.t.Fatalf("it does not end; the screen is\n%s", x.text())
	}
	after, err := term.GetState(int(x.cmd.Stdin.(*os.File).Fd()))
	if err != nil || *after != *x.before {
		x.t.Errorf("the terminal is not as it was: %v", err)
	}
}
