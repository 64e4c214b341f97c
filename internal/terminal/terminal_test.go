package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/term"
)

// The terminal is restored however the command ends: by itself, killed, or with its connection lost.
func TestRestoresTheTerminal(t *testing.T) {
	const setup = `stty raw -echo; printf '\033[?1049h\033[?1002h'; `
	for _, c := range []struct {
		name, script string
		aborted      bool
	}{
		{"ended with status 0", setup + "exit 0", false},
		{"ended with status 3", setup + "exit 3", false},
		{"killed", setup + "kill -9 $$", true},
		{"connection lost", setup + "exit 255", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ptmx, tty, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer ptmx.Close()
			before, err := term.GetState(int(tty.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", c.script)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
			_ = RunOnTerminal(cmd)
			after, err := term.GetState(int(tty.Fd()))
			if err != nil || *after != *before {
				t.Errorf("the modes are %+v, were %+v: %v", after, before, err)
			}
			tty.Close()
			var shown bytes.Buffer
			if _, err := io.Copy(&shown, ptmx); err != nil && !errors.Is(err, syscall.EIO) { // Linux returns EIO at the end
				t.Fatal(err)
			}
			if got := strings.HasSuffix(shown.String(), reset); got != c.aborted {
				t.Errorf("the output ends with the reset sequences: %v, want %v: %q", got, c.aborted, shown.String())
			}
		})
	}
}

const childVariable = "HERMES_BOX_TERMINAL_TEST_CHILD"

// A command that uses the terminal gets SIGHUP when this process is killed. Otherwise it would continue to read from
// the terminal.
func TestChildGetsSIGHUPWhenTheProgramIsKilled(t *testing.T) {
	if script := os.Getenv(childVariable); script != "" {
		cmd := exec.Command("sh", "-c", script)
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		t.Fatal(RunOnTerminal(cmd))
	}
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: only Linux can signal a child when its parent is killed")
	}
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("NOT CHECKED: SIGHUP is ignored, as under nohup, and a shell cannot undo that")
	}
	messages := filepath.Join(t.TempDir(), "messages")
	if err := syscall.Mkfifo(messages, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildGetsSIGHUPWhenTheProgramIsKilled$")
	cmd.Env = append(os.Environ(), childVariable+`=exec 3<>`+messages+`; trap 'echo hung up >&3; exit' HUP; echo begun >&3; while :; do sleep 0.1; done`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	f, err := os.OpenFile(messages, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"begun\n", "hung up\n"} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(f, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		cmd.Process.Kill()
	}
}

// After a reset, text continues where it was before the session, whether or not the session used the alternate screen.
func TestResetKeepsTheCursor(t *testing.T) {
	for _, session := range []string{"", "\x1b[?1049h\x1b[2J\x1b[5;10r\x1b[9;9Hdrawn\x1b[31m"} {
		screen := vt.NewEmulator(40, 10)
		fmt.Fprint(screen, "above\r\n$ session", session)
		fmt.Fprint(screen, reset)
		fmt.Fprint(screen, ": lost")
		if got := strings.Join(strings.Fields(screen.Render()), " "); got != "above $ session: lost" {
			t.Errorf("after %q: %q", session, got)
		}
	}
}
