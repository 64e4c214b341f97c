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

// ends waits for a program to end with a status, and for its terminal to be as it was.
func ends(t *testing.T, tm *ttytest.Terminal, status int) {
	t.Helper()
	if got := tm.Ends(5 * time.Second); got != status {
		t.Errorf("status %d, want %d\n%s", got, status, tm.Text())
	}
	tm.Restored()
}

const (
	// asks asks as much of a terminal as tmux and editors do.
	asks = `printf "\033[?1049h\033[?1000h\033[?1003h\033[?1006h\033[?1004h\033[?2004h\033[?25l\033[>4;2m\033[>1u";`
	// fullScreen is a program that does so, and says it. It is run by a sh of its own: a SIGHUP is lost on a bash that is
	// about to exec.
	fullScreen = asks + `printf drawing; exec sleep 1000`
)

// A VM that dies takes with it what runs in it; whoever looks on is told, on the terminal he had.
func TestVMDiesUnderACommand(t *testing.T) {
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
	ends(t, ssh, 255)
	for _, tm := range []*ttytest.Terminal{command, drawing} {
		tm.Shows("connection to main lost")
		ends(t, tm, exitFailed)
	}
	m.must("start", "--quiet")
	m.wantSound("the death of its VM")
}

// Whoever ends hermes-box has his terminal back too.
func TestEndedInTheBox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	ssh := ttytest.Start(t, m.cmd("", "ssh"), 80, 24)
	ssh.Hears(`\$ `)
	ssh.Type("exec sh -c '" + fullScreen + "'\r")
	for _, tm := range []*ttytest.Terminal{ssh, ttytest.Start(t, m.cmd("", "exec", "-t", "--", "sh", "-c", fullScreen), 80, 24)} {
		tm.Hears("[mu]drawing")
		tm.Signal(syscall.SIGTERM)
		ends(t, tm, exitInterrupted)
	}
}

func TestTerminalInTheBox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()

	tm := ttytest.Start(t, m.cmd("", "ssh"), 100, 30)
	tm.Hears(`no VM is here.*\n.*guest/workspace`) // whoever attaches to a demo has to know where he is
	tm.Hears(`agent@demo:workspace\$ `)
	tm.Type("stty size\r")
	tm.Hears(`30 100`)
	tm.Resize(120, 40)
	tm.Hears(`\$ `)
	tm.Type("until stty size | grep '40 120'; do :; done\r")
	tm.Hears(`\r40 120`)
	tm.Type("sh -c 'echo begun; exec cat'\r")
	tm.Hears(`\rbegun`)
	tm.Type("\x03")           // is for what runs in there, and nobody else
	tm.Hears(`\^C(.|\n)*\$ `) // a key typed while cat goes may be lost
	tm.Type("exit 7\r")
	ends(t, tm, 7)

	// Sign in as a person would: asked, answered, proven by the box's own probes.
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
		ends(t, tm, 0)
	}
	if out := m.must("status", "--json"); strings.Contains(out, "setup-required") {
		t.Errorf("signed in everywhere: %s", out)
	}
	tm = ttytest.Start(t, m.cmd("", "exec", "-t", "--", "sh", "-c", "test -t 0 && test -t 1 && exit 5"), 100, 30)
	ends(t, tm, 5)
}
