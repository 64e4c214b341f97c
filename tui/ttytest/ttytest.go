// Package ttytest runs a program on a terminal whose screen tests can read: a pty with a terminal emulator at its other
// end. It waits for what is on the screen, never for time.
package ttytest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
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

// Terminal is a program on a pty whose screen is read through a terminal emulator.
type Terminal struct {
	t      T
	tty    *os.File
	cmd    *exec.Cmd
	ended  chan struct{}
	err    error
	screen *vt.Emulator

	mu    sync.Mutex
	modes map[int]bool // DEC private modes that are set
	raw   strings.Builder
	fresh chan struct{} // holds one token after output
}

// Env describes the terminal; it goes after the environment of the test, whose own terminal is none of the program's
// business.
var Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=", "LC_CTYPE=", "NO_COLOR=", "COLORTERM=", "TERM_PROGRAM=", "TMUX=", "SSH_TTY=", "HERMES_BOX_THEME="}

// Start starts a program on a terminal of that size; it is killed at the end of the test, if it runs on.
func Start(t T, cmd *exec.Cmd, w, h int) *Terminal {
	t.Helper()
	term := &Terminal{t: t, cmd: cmd, ended: make(chan struct{}), modes: map[int]bool{}, fresh: make(chan struct{}, 1), screen: vt.NewEmulator(w, h)}
	term.screen.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { term.modes[m.Mode()] = true },
		DisableMode: func(m ansi.Mode) { delete(term.modes, m.Mode()) },
	})
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
		if pipe, ok := term.screen.InputPipe().(io.Closer); ok { // Close of the emulator itself is a race with its Read
			pipe.Close()
		}
	})
	return term
}

// Text is what is on the screen.
func (t *Terminal) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ansi.Strip(t.screen.Render())
}

// Cells are those of the screen, row by row.
func (t *Terminal) Cells() [][]uv.Cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([][]uv.Cell, t.screen.Height())
	for y := range rows {
		rows[y] = make([]uv.Cell, t.screen.Width())
		for x := range rows[y] {
			if c := t.screen.CellAt(x, y); c != nil {
				rows[y][x] = *c
			}
		}
	}
	return rows
}

// Idle waits until the program has written nothing for a moment: what it draws is then whole.
func (t *Terminal) Idle() {
	t.t.Helper()
	const moment = 100 * time.Millisecond
	late := time.After(20 * time.Second)
	for {
		select {
		case <-t.fresh:
		case <-time.After(moment):
			return
		case <-late:
			t.t.Fatalf("it never pauses:\n%s", t.Text())
		}
	}
}

// Until waits until the screen is as a test wants it; what says so in a few words.
func (t *Terminal) Until(what string, ok func(screen string) bool) {
	t.t.Helper()
	late := time.After(20 * time.Second)
	for !ok(t.Text()) {
		select {
		case <-t.fresh:
		case <-time.After(50 * time.Millisecond): // a state that no output announces
		case <-late:
			t.t.Fatalf("the screen never shows %s:\n%s", what, t.Text())
		case <-t.ended:
			if !ok(t.Text()) {
				t.t.Fatalf("it ended (%v) before it showed %s:\n%s\n%q", t.err, what, t.Text(), t.Output())
			}
		}
	}
}

// Shows waits until a text is on the screen.
func (t *Terminal) Shows(text string) {
	t.t.Helper()
	t.Until(text, func(s string) bool { return strings.Contains(s, text) })
}

// Hides waits until a text is not on the screen.
func (t *Terminal) Hides(text string) {
	t.t.Helper()
	t.Until("no "+text, func(s string) bool { return !strings.Contains(s, text) })
}

// Type sends keys in one write, as fast typing does.
func (t *Terminal) Type(keys string) {
	t.t.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
}

// Resize makes the terminal larger or smaller.
func (t *Terminal) Resize(w, h int) {
	t.t.Helper()
	t.mu.Lock()
	t.screen.Resize(w, h)
	t.mu.Unlock()
	if err := pty.Setsize(t.tty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		t.t.Fatal(err)
	}
}

// Ends waits for the program to end and gives its status.
func (t *Terminal) Ends(within time.Duration) int {
	t.t.Helper()
	select {
	case <-t.ended:
	case <-time.After(within):
		t.t.Fatalf("it has not ended after %v:\n%s", within, t.Text())
	}
	var exit *exec.ExitError
	if t.err != nil && !errors.As(t.err, &exit) {
		t.t.Fatal(t.err)
	}
	return t.cmd.ProcessState.ExitCode()
}

// Output is all that the program has written, with its escape sequences.
func (t *Terminal) Output() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.String()
}

// Restored checks that the terminal is as it was found: no alternate screen, no mouse, no focus reports, no bracketed
// paste, a cursor.
func (t *Terminal) Restored() {
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
	out := t.raw.String()
	for on, off := range map[string]string{"\x1b[>1u": "\x1b[<1u", "\x1b[>4;2m": "\x1b[>4m"} { // two ways to ask for more keys
		if strings.LastIndex(out, off) < strings.LastIndex(out, on) {
			t.t.Errorf("%q is not taken back", on)
		}
	}
}

// Signal sends the program a signal.
func (t *Terminal) Signal(s syscall.Signal) {
	t.t.Helper()
	if err := t.cmd.Process.Signal(s); err != nil {
		t.t.Fatal(err)
	}
}

// Mode tells whether a DEC private mode is set.
func (t *Terminal) Mode(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.modes[n]
}

// HangUp takes the terminal away, as closing its window does.
func (t *Terminal) HangUp() { t.tty.Close() }
