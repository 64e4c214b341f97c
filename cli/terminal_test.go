package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a program on a terminal of its own.
type terminal struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu    sync.Mutex
	shown bytes.Buffer
	more  *sync.Cond
	ended bool
}

// onTerminal starts a command on a terminal of 100 columns.
func onTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	tm := &terminal{t: t, cmd: cmd, tty: tty}
	tm.more = sync.NewCond(&tm.mu)
	go func() {
		_, _ = io.Copy(tm, tty)
		tm.mu.Lock()
		tm.ended = true
		tm.more.Broadcast()
		tm.mu.Unlock()
	}()
	t.Cleanup(func() { tty.Close() })
	return tm
}

func (tm *terminal) Write(p []byte) (int, error) {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	tm.more.Broadcast()
	return tm.shown.Write(p)
}

// expect waits for something to be shown, and forgets it and what came before.
func (tm *terminal) expect(pattern string) string {
	tm.t.Helper()
	late := time.AfterFunc(time.Minute, func() { tm.cmd.Process.Signal(syscall.SIGKILL) })
	defer late.Stop()
	tm.mu.Lock()
	defer tm.mu.Unlock()
	for {
		if at := regexp.MustCompile(pattern).FindIndex(tm.shown.Bytes()); at != nil {
			return string(tm.shown.Next(at[1]))
		}
		if tm.ended {
			tm.t.Fatalf("%s is not shown, but %q", pattern, tm.shown.String())
		}
		tm.more.Wait()
	}
}

func (tm *terminal) press(keys string) {
	if _, err := io.WriteString(tm.tty, keys); err != nil {
		tm.t.Error(err)
	}
}

// status waits for the end.
func (tm *terminal) status() int {
	err := tm.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		tm.t.Error(err)
	}
	return 0
}

// A VM that dies takes with it what runs in it, and whoever looks on is told.
func TestVMDiesUnderACommand(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	ssh := onTerminal(t, m.cmd("", "ssh"))
	ssh.expect(`\$ `)
	command := onTerminal(t, m.cmd("", "exec", "--", "sh", "-c", "echo begun; exec sleep 1000"))
	command.expect("begun")
	m.powerOff()
	ssh.expect("closed by remote host")
	if status := ssh.status(); status != 255 {
		t.Errorf("ssh ends with %d", status)
	}
	command.expect("connection to main lost")
	if status := command.status(); status != exitFailed {
		t.Errorf("exec ends with %d", status)
	}
	m.must("start", "--quiet")
	m.wantSound("the death of its VM")
}

func TestTerminalInTheBox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()

	tm := onTerminal(t, m.cmd("", "ssh"))
	tm.expect(`no VM is here.*\n.*guest/workspace`) // whoever attaches to a demo has to know where he is
	tm.expect(`agent@demo:workspace\$ `)
	tm.press("stty size\r")
	tm.expect(`30 100`)
	if err := pty.Setsize(tm.tty, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	tm.expect(`\$ `)
	tm.press("until stty size | grep '40 120'; do :; done\r")
	tm.expect(`\r40 120`)
	tm.press("sh -c 'echo begun; exec cat'\r")
	tm.expect(`\rbegun`)
	tm.press("\x03")           // is for what runs in there, and nobody else
	tm.expect(`\^C(.|\n)*\$ `) // a key typed while cat goes may be lost
	tm.press("exit 7\r")
	if status := tm.status(); status != 7 {
		t.Errorf("ssh ends with %d", status)
	}

	// Sign in as a person would: asked, answered, proven by the box's own probes.
	for _, step := range []struct{ args, question, answer, done string }{
		{"claude auth login", `Paste the code.*: `, "any\r", `Signed in`},
		{"codex login --device-auth", `Press enter.*: `, "\r", `Successfully logged in`},
		{"hermes setup", `API key.*: `, "any\r", `Which model\?`},
	} {
		tm := onTerminal(t, m.cmd("", append([]string{"exec", "-t", "--"}, strings.Fields(step.args)...)...))
		tm.expect(step.question)
		tm.press(step.answer)
		tm.expect(step.done)
		if strings.HasPrefix(step.args, "hermes") {
			tm.press("\r")
			tm.expect(`The model is demo-model`)
		}
		if status := tm.status(); status != 0 {
			t.Errorf("%s ends with %d", step.args, status)
		}
	}
	if out := m.must("status", "--json"); strings.Contains(out, "setup-required") {
		t.Errorf("signed in everywhere: %s", out)
	}
	tm = onTerminal(t, m.cmd("", "exec", "-t", "--", "sh", "-c", "test -t 0 && test -t 1 && exit 5"))
	if status := tm.status(); status != 5 {
		t.Errorf("a command with a terminal ends with %d", status)
	}
}
