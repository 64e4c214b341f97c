package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// terminal is a program on a pty whose screen is read through a terminal emulator.
type terminal struct {
	t      *testing.T
	tty    *os.File
	cmd    *exec.Cmd
	ended  chan struct{}
	err    error
	begun  time.Time
	screen *vt.Emulator

	mu    sync.Mutex
	modes map[int]bool // DEC private modes that are set
	raw   strings.Builder
	fresh chan struct{} // holds one token after output
}

// on starts a program on a terminal of that size.
func on(t *testing.T, cmd *exec.Cmd, w, h int) *terminal {
	t.Helper()
	term := &terminal{t: t, cmd: cmd, ended: make(chan struct{}), modes: map[int]bool{}, fresh: make(chan struct{}, 1), screen: vt.NewEmulator(w, h), begun: time.Now()}
	term.screen.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { term.modes[m.Mode()] = true },
		DisableMode: func(m ansi.Mode) { delete(term.modes, m.Mode()) },
	})
	for i, kv := range cmd.Env {
		if strings.HasPrefix(kv, "TERM=") {
			cmd.Env[i] = "HERMES_BOX_TEST_NO=" // the test's own terminal is none of its business
		}
	}
	cmd.Env = append([]string{"TERM=xterm-256color", "LANG=C.UTF-8"}, cmd.Env...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		t.Fatal(err)
	}
	term.tty = tty
	go io.Copy(tty, term.screen) // what the emulator answers to queries
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 32<<10)
		for {
			n, err := tty.Read(buf)
			term.mu.Lock()
			term.screen.Write(buf[:n])
			term.raw.Write(buf[:n])
			term.mu.Unlock()
			select {
			case term.fresh <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		term.err = cmd.Wait()
		<-read
		close(term.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-term.ended:
		default:
			cmd.Process.Kill()
			tty.Close()
			<-term.ended
		}
		tty.Close()
		term.screen.Close()
	})
	return term
}

// text is what is on the screen.
func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ansi.Strip(t.screen.Render())
}

// until waits until the screen is as a test wants it.
func (t *terminal) until(what string, ok func(screen string) bool) {
	t.t.Helper()
	late := time.After(20 * time.Second)
	for !ok(t.text()) {
		select {
		case <-t.fresh:
		case <-time.After(50 * time.Millisecond): // a state that no output announces
		case <-late:
			t.t.Fatalf("the screen never shows %s:\n%s", what, t.text())
		case <-t.ended:
			if !ok(t.text()) {
				t.t.Fatalf("it ended (%v) before it showed %s:\n%s\n%q", t.err, what, t.text(), t.output())
			}
		}
	}
}

func (t *terminal) shows(text string) {
	t.t.Helper()
	t.until(text, func(s string) bool { return strings.Contains(s, text) })
}

func (t *terminal) hides(text string) {
	t.t.Helper()
	t.until("no "+text, func(s string) bool { return !strings.Contains(s, text) })
}

// types sends keys in one write, as fast typing does.
func (t *terminal) types(keys string) {
	t.t.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
}

func (t *terminal) resize(w, h int) {
	t.t.Helper()
	t.mu.Lock()
	t.screen.Resize(w, h)
	t.mu.Unlock()
	if err := pty.Setsize(t.tty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		t.t.Fatal(err)
	}
}

// ends waits for the program to end and gives its status.
func (t *terminal) ends(within time.Duration) int {
	t.t.Helper()
	select {
	case <-t.ended:
	case <-time.After(within):
		t.t.Fatalf("it has not ended after %v:\n%s", within, t.text())
	}
	var exit *exec.ExitError
	if t.err != nil && !errors.As(t.err, &exit) {
		t.t.Fatal(t.err)
	}
	return t.cmd.ProcessState.ExitCode()
}

func (t *terminal) output() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.String()
}

// restored tells whether the terminal is as it was found: no alternate screen, no mouse, no focus reports, no bracketed
// paste, a cursor.
func (t *terminal) restored() {
	t.t.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	for mode, name := range map[int]string{1049: "alternate screen", 1000: "mouse", 1002: "mouse", 1003: "mouse", 1006: "mouse", 1004: "focus reports", 2004: "bracketed paste"} {
		if t.modes[mode] {
			t.t.Errorf("mode %d (%s) is left on", mode, name)
		}
	}
	if t.screen.CursorHidden() {
		t.t.Error("the cursor is left hidden")
	}
	if out := t.raw.String(); strings.Contains(out, "\x1b[>4;2m") && !strings.Contains(out[strings.LastIndex(out, "\x1b[>4;2m"):], "\x1b[>4") {
		t.t.Error("modifyOtherKeys is left on")
	}
}

func (t *terminal) signal(s syscall.Signal) {
	t.t.Helper()
	if err := t.cmd.Process.Signal(s); err != nil {
		t.t.Fatal(err)
	}
}
