package cli

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/ttytest"
)

// Keys.
const (
	enter   = "\r"
	esc     = "\x1b"
	up      = "\x1b[A"
	down    = "\x1b[B"
	backTab = "\x1b[Z"
	ctrlC   = "\x03"
	ctrlU   = "\x15"
	ctrlZ   = "\x1a"

	endOfInput = "\x04"
)

// wantExit fails unless a program exits with a status and restores its terminal.
func wantExit(t *testing.T, tm *ttytest.Terminal, status int) {
	t.Helper()
	if got := tm.Ends(5 * time.Second); got != status {
		t.Errorf("status %d, want %d\n%s", got, status, tm.Text())
	}
	tm.Restored()
}

const (
	// setModes sets the terminal modes that tmux and editors set.
	setModes = `printf "\033[?1049h\033[?1000h\033[?1003h\033[?1006h\033[?1004h\033[?2004h\033[?25l\033[>4;2m\033[>1u";`
	// fullScreen is a program that sets these modes and prints "drawing". It needs a sh of its own: bash loses a SIGHUP that
	// arrives just before it execs.
	fullScreen = setModes + `printf drawing; exec sleep 1000`
)

// When the VM dies, ssh and exec report the lost connection and restore the terminal.
func TestVMDiesDuringACommand(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	ssh := ttytest.Start(t, m.cmd("", "ssh"), 100, 30)
	ssh.Hears(`\$ `)
	ssh.Type("exec sh -c '" + fullScreen + "'\r")
	ssh.Hears("[mu]drawing")
	command := ttytest.Start(t, m.cmd("", "exec", "--", "sh", "-c", "echo begun; exec sleep 1000"), 100, 30)
	command.Hears("begun")
	drawing := ttytest.Start(t, m.cmd("", "exec", "-t", "--", "sh", "-c", fullScreen), 100, 30)
	drawing.Hears("[mu]drawing")
	m.powerOff()
	ssh.Shows("no VM is here", "connection to main lost", "hint: hermes-box status")
	wantExit(t, ssh, 255)
	for _, tm := range []*ttytest.Terminal{command, drawing} {
		tm.Shows("connection to main lost")
		wantExit(t, tm, exitFailed)
	}
	m.must("start", "--quiet")
	m.wantSound("the death of its VM")
}

// ssh and exec restore the terminal when they are terminated.
func TestTerminatedInTheBox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	ssh := ttytest.Start(t, m.cmd("", "ssh"), 80, 24)
	ssh.Hears(`\$ `)
	ssh.Type("exec sh -c '" + fullScreen + "'\r")
	for _, tm := range []*ttytest.Terminal{ssh, ttytest.Start(t, m.cmd("", "exec", "-t", "--", "sh", "-c", fullScreen), 80, 24)} {
		tm.Hears("[mu]drawing")
		tm.Signal(syscall.SIGTERM)
		wantExit(t, tm, exitInterrupted)
	}
}

func TestTerminalInTheBox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()

	tm := ttytest.Start(t, m.cmd("", "ssh"), 100, 30)
	tm.Hears(`no VM is here.*\n.*guest/workspace`) // attaching to a demo prints that it is a demo
	tm.Hears(`agent@demo:workspace\$ `)
	tm.Type("stty size\r")
	tm.Hears(`30 100`)
	tm.Resize(120, 40)
	tm.Hears(`\$ `)
	tm.Type("until stty size | grep '40 120'; do :; done\r")
	tm.Hears(`\r40 120`)
	tm.Type("sh -c 'echo begun; exec cat'\r")
	tm.Hears(`\rbegun`)
	tm.Type("\x03")           // interrupts the program in the box, not hermes-box
	tm.Hears(`\^C(.|\n)*\$ `) // a key typed while cat exits may be lost
	tm.Type("exit 7\r")
	wantExit(t, tm, 7)

	// Sign in to each agent. status must then show all of them as signed in.
	for _, step := range []struct{ args, question, answer, done string }{
		{"claude auth login", `Paste the code.*: `, "any\r", `Signed in`},
		{"codex login --device-auth", `Press enter.*: `, "\r", `Successfully logged in`},
		{"hermes setup", `API key.*: `, "any\r", `Which model\?`},
	} {
		tm := ttytest.Start(t, m.cmd("", append([]string{"exec", "-t", "--"}, strings.Fields(step.args)...)...), 100, 30)
		tm.Hears(step.question)
		tm.Type(step.answer)
		tm.Hears(step.done)
		if strings.HasPrefix(step.args, "hermes") {
			tm.Type("\r")
			tm.Hears(`The model is demo-model`)
		}
		wantExit(t, tm, 0)
	}
	if out := m.must("status", "--json"); strings.Contains(out, "setup-required") {
		t.Errorf("signed in everywhere, but status says: %s", out)
	}
	tm = ttytest.Start(t, m.cmd("", "exec", "-t", "--", "sh", "-c", "test -t 0 && test -t 1 && exit 5"), 100, 30)
	wantExit(t, tm, 5)
}
