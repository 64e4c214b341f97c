package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/limactl/rehearsal"
	"hermes-box/tui/ttytest"
)

// dashboard is hermes-box alone, on a terminal of the machine.
func (m *machine) dashboard(w, h int, env ...string) *ttytest.Terminal {
	m.t.Helper()
	c := m.cmd("", "--mirror="+filepath.Join(m.dir, "mirror"))
	c.Env = append(append(c.Env, ttytest.Env...), env...)
	return ttytest.Start(m.t, c, w, h)
}

// script puts a program of that name first on the PATH, in place of the rehearsal's; $REAL is that one.
func (m *machine) script(name, text string) {
	m.t.Helper()
	bin := filepath.Join(m.dir, "bin")
	real := filepath.Join(m.dir, "real", name)
	if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(bin, name), real); err != nil {
		m.t.Fatal(err)
	}
	m.write("bin/"+name, []byte("#!/bin/sh\nREAL="+real+"\n"+text))
	if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// booted is a finished box whose VM runs; the guest in it does not answer for want of a helper.
func booted(t *testing.T) *machine {
	m := newMachine(t)
	m.finished()
	if _, stderr, err := m.run("limactl", "start", "--tty=false", "main"); err != nil {
		t.Fatal(err, stderr)
	}
	return m
}

func left(t *testing.T, d *ttytest.Terminal, status int) {
	t.Helper()
	if got := d.Ends(5 * time.Second); got != status {
		t.Errorf("status %d, want %d\n%s", got, status, d.Text())
	}
	d.Restored()
}

// Keys that come in one burst are all heard, in their order.
func TestDashboardHearsFastTyping(t *testing.T) {
	m := newMachine(t)
	m.finished()
	d := m.dashboard(80, 24)
	d.Shows("▸ node")
	d.Type("jjjjk")
	d.Shows("▸ codex")
	d.Type(":doctor\r")
	d.Shows("none fails")
	d.Type("\x1b")
	d.Shows("▸ codex")
	d.Type("l\x1b[Z?")
	d.Shows("▸ recovery")
	d.Shows("type to search")
	d.Type("\x1b")
	d.Hides("type to search")
	d.Type("qq")
	left(t, d, 0)
}

func TestDashboardResizes(t *testing.T) {
	m := newMachine(t)
	m.finished()
	d := m.dashboard(80, 24)
	d.Shows("┌ components")
	d.Resize(40, 10)
	d.Shows("needs 60x16; q quits")
	d.Resize(1, 1)
	d.Hides("needs")
	d.Resize(120, 40)
	d.Until("a frame of 120 cells", func(s string) bool {
		return strings.Contains(s, "┌ components") && strings.Contains(s, strings.Repeat("─", 80))
	})
	d.Resize(60, 16)
	d.Until("a layout without frames", func(s string) bool {
		return strings.Contains(s, "components ───") && !strings.Contains(s, "┌ components")
	})
	d.Type("q")
	left(t, d, 0)
}

// The terminal goes to the box and comes back as it was: modes, size and keys.
func TestDashboardAttaches(t *testing.T) {
	m := booted(t)
	m.script("ssh", `for a; do [ "$a" = -t ] && exec sh -c 'printf "\033[2J\033[Hin the box: "; stty size; read line; echo "heard $line"; read line'; done
exec $REAL "$@"`)
	// A resize meanwhile is a race within Bubble Tea, which looks at its terminal while it takes it back.
	d := m.dashboard(80, 24, "GORACE=atexit_sleep_ms=0 exitcode=0 log_path="+filepath.Join(t.TempDir(), "race"))
	d.Shows("a attach")
	d.Type("ja")
	d.Shows("in the box: 24 80")
	d.Resize(100, 30)
	d.Type("hello\n")
	d.Shows("heard hello")
	d.Type("\n")
	d.Until("the dashboard at its new size", func(s string) bool {
		return strings.Contains(s, "▸ uv") && strings.Contains(s, strings.Repeat("─", 60))
	})
	if !d.Mode(1002) || !d.Mode(1049) {
		t.Error("the mouse or the alternate screen has not come back")
	}
	d.Type("k")
	d.Shows("▸ node")
	d.Type("q")
	left(t, d, 0)
}

// Signing in has the terminal for as long as it takes, and the dashboard then shows what has come of it.
func TestDashboardSignsIn(t *testing.T) {
	m := newInhabited(t)
	d := m.dashboard(80, 24)
	d.Shows("1 sign in to Claude")
	d.Type("1")
	d.Shows("Paste the code")
	d.Signal(syscall.SIGINT) // ctrl-c is heard by all that are in the foreground, and meant for the one that has the terminal
	d.Type("code\n")
	d.Shows("1 sign in to Codex")
	if !d.Mode(1002) || !d.Mode(1049) {
		t.Error("the mouse or the alternate screen has not come back")
	}

	// All of it, left again.
	d.Type("w")
	d.Shows("Sign in to box main: 1 of 6 done")
	d.Shows("▸ ◦ Codex")
	d.Type("\x1b")
	d.Shows("1 sign in to Codex")

	// What went wrong is read before the dashboard draws over it.
	d.Type("1")
	d.Shows("Press enter when it is done")
	d.Type("\x04")
	d.Shows("enter goes back to the dashboard")
	d.Shows("hermes-box: codex login --device-auth ended with status 1")
	d.Type("\n")
	d.Shows("signing in ended with status 1; w goes on with it")
	d.Type("j")
	d.Shows("▸ uv")
	d.Type("q")
	left(t, d, 0)
}

// A dashboard that is ended while somebody signs in gives the terminal back, and nothing stays behind.
func TestDashboardEndsWhileSigningIn(t *testing.T) {
	m := newInhabited(t)
	d := m.dashboard(80, 24)
	d.Shows("w sign in")
	d.Type("w")
	d.Shows("▸ ◦ Claude Code")
	d.Signal(syscall.SIGTERM)
	left(t, d, 130)
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline") // none on macOS
	for _, p := range processes {
		if line, _ := os.ReadFile(p); strings.Contains(string(line), "\x00login\x00") && strings.Contains(string(line), m.dir) {
			t.Errorf("still running: %q", line)
		}
	}
}

// A session that fails is told with what it said last, and stays told until it is read.
func TestDashboardKeepsWhatAFailedAttachSaid(t *testing.T) {
	m := booted(t)
	m.script("ssh", `for a; do [ "$a" = -t ] && { echo "kex_exchange: reset by peer" >&2; exit 255; }; done
exec $REAL "$@"`)
	d := m.dashboard(80, 24)
	d.Shows("a attach")
	d.Type("a")
	d.Shows("enter goes back to the dashboard")
	d.Shows("reset by peer")
	d.Type("\n")
	d.Shows("✗ attach failed")
	d.Shows("the session ended with status 255")
	d.Shows("kex_exchange: reset by peer")
	d.Type("\x1b") // a key in flight is not an answer
	time.Sleep(450 * time.Millisecond)
	d.Shows("✗ attach failed")
	d.Type("\x1b")
	d.Hides("attach failed")
	d.Type("e")
	d.Shows("✗ attach failed")
	d.Type("qq")
	left(t, d, 0)
}

// ctrl-z gives the shell its terminal back, and fg the dashboard.
func TestDashboardSuspends(t *testing.T) {
	m := newMachine(t)
	m.finished()
	c := m.cmd("", "--color=auto")
	program := c.Path
	c = m.cmd("", "sh", "-i")
	c.Path, c.Args = "/bin/sh", []string{"sh", "-i"}
	c.Env = append(append(c.Env, ttytest.Env...), "PS1=prompt> ", "ENV=")
	d := ttytest.Start(t, c, 80, 24)
	d.Shows("prompt>")
	d.Type("set -m; " + program + "\n")
	d.Shows("▸ node")
	d.Type("j")
	d.Shows("▸ uv")
	d.Type("\x1a")
	d.Until("the shell", func(s string) bool { return strings.Contains(s, "prompt>") && !strings.Contains(s, "▸ uv") })
	if d.Mode(1049) || d.Mode(1002) {
		t.Error("the terminal is not given back to the shell")
	}
	d.Type("fg\n")
	d.Shows("▸ uv")
	d.Type("k")
	d.Shows("▸ node")
	d.Type("q")
	d.Shows("prompt>")
	d.Restored()
	d.Type("exit\n")
	d.Ends(5 * time.Second)
}

func TestDashboardRestoresTheTerminalAtASignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		m := newMachine(t)
		m.finished()
		d := m.dashboard(80, 24)
		d.Shows("▸ node")
		d.Signal(s)
		left(t, d, exitInterrupted)
		if out := d.Output(); strings.Contains(out, "stopping safely") {
			t.Errorf("%v: something is written over the screen: %q", s, out)
		}
	}
}

// Also while the terminal is the box's.
func TestDashboardEndsWhileAttached(t *testing.T) {
	m := booted(t)
	m.script("ssh", `for a; do [ "$a" = -t ] && { echo "in the box"; exec sleep 300; }; done
exec $REAL "$@"`)
	d := m.dashboard(80, 24)
	d.Shows("a attach")
	d.Type("a")
	d.Shows("in the box")
	d.Signal(syscall.SIGTERM)
	left(t, d, exitInterrupted)
}

// A signal during a create undoes it before the program ends.
func TestDashboardUndoesAtASignal(t *testing.T) {
	m := newMachine(t)
	c := m.creating()
	c.Signal(syscall.SIGTERM)
	if got := c.Ends(20 * time.Second); got != exitInterrupted {
		t.Errorf("status %d", got)
	}
	c.Restored()
	c.Shows("undone: make the VM")
	if left := m.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// A terminal that goes away ends it the same way.
func TestDashboardUndoesWhenTheTerminalGoes(t *testing.T) {
	m := newMachine(t)
	d := m.creating()
	d.HangUp()
	d.Ends(20 * time.Second)
	if left := m.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// creating is a dashboard in whose create the VM boots and boots.
func (m *machine) creating() *ttytest.Terminal {
	m.t.Helper()
	if err := rehearsal.Inject(m.lima(), rehearsal.HoldBoot); err != nil {
		m.t.Fatal(err)
	}
	d := m.dashboard(80, 24)
	d.Shows("has all it needs")
	d.Type("\r")
	d.Shows("▸ boot the VM")
	return d
}

// Canceling asks first, with no as its answer, and undoes; the dashboard goes on.
func TestDashboardCancelsACreate(t *testing.T) {
	m := newMachine(t)
	d := m.creating()
	d.Type("x")
	d.Shows("Cancel the create?")
	d.Type("\r")
	d.Hides("Cancel the create?")
	d.Type("q")
	d.Shows("Leave while the create is under way?")
	d.Type("n")
	d.Hides("Leave while")
	d.Type("xy")
	d.Shows("create canceled after")
	d.Shows("create was canceled; what it had done is undone")
	d.Shows("↩ make the VM")
	if left := m.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	time.Sleep(450 * time.Millisecond) // what is typed at once is not meant for the outcome
	d.Type("\r")
	d.Shows("makes the box")
	d.Type("q")
	left(t, d, 0)
}

// The name of the box has to be typed; nothing else destroys it.
func TestDashboardDestroysByName(t *testing.T) {
	m := newMachine(t)
	m.finished()
	d := m.dashboard(80, 24)
	d.Shows("▸ node")
	d.Type("X")
	d.Shows("Destroy main")
	d.Type("\r")
	d.Shows("the name is main")
	d.Type("mian\r")
	d.Shows("that is not its name")
	d.Type("\x15main\r")
	d.Shows("✓ main is gone")
	if left := m.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	d.Type("\x03") // q would be taken for a key in flight
	left(t, d, 0)
}

var colour = regexp.MustCompile(`\x1b\[(?:[0-9]+;)*(?:3[0-8]|4[0-8]|9[0-7])[;m]`)

func TestDashboardWithoutColour(t *testing.T) {
	m := newMachine(t)
	m.finished()
	for _, env := range []string{"NO_COLOR=1", "NO_COLOR="} {
		d := m.dashboard(80, 24, env)
		d.Shows("○ stopped")
		d.Type("q")
		left(t, d, 0)
		if has := colour.MatchString(d.Output()); has != (env == "NO_COLOR=") {
			t.Errorf("%s: colour %v", env, has)
		}
	}
	d := m.dashboard(80, 24, "LANG=C")
	d.Shows("o stopped")
	for _, r := range d.Text() {
		if r > 0x7e {
			t.Errorf("%q on a terminal without Unicode", r)
			break
		}
	}
	d.Type("q")
	left(t, d, 0)
}

// The flags and the variable that say how it looks.
func TestDashboardLooks(t *testing.T) {
	m := newMachine(t)
	m.finished()
	for _, c := range []struct {
		args  []string
		env   string
		shows string
		color bool
	}{
		{nil, "HERMES_BOX_THEME=dark", "○ stopped", true},
		{nil, "HERMES_BOX_THEME=light", "○ stopped", true},
		{[]string{"--color=never"}, "", "○ stopped", false},
		{[]string{"--color=always"}, "NO_COLOR=1", "○ stopped", true},
		{[]string{"--ascii"}, "", "o stopped", true},
	} {
		cmd := m.cmd("", append([]string{"--quiet"}, c.args...)...)
		cmd.Env = append(append(cmd.Env, ttytest.Env...), c.env)
		d := ttytest.Start(t, cmd, 80, 24)
		d.Shows(c.shows)
		d.Type("q")
		left(t, d, 0)
		if got := colour.MatchString(d.Output()); got != c.color {
			t.Errorf("%v %s: colour %v", c.args, c.env, got)
		}
	}
	d := m.dashboard(80, 24, "HERMES_BOX_THEME=pink")
	left(t, d, exitUsage)
	if !strings.Contains(d.Output(), "ansi, dark or light") {
		t.Error(d.Output())
	}
}

// A terminal that can do nothing gets the status as text.
func TestDashboardOnADumbTerminal(t *testing.T) {
	m := newMachine(t)
	m.finished()
	for env, escapes := range map[string]bool{"TERM=dumb": false, "ACCESSIBLE=1": true} {
		d := m.dashboard(80, 24, env)
		left(t, d, 0)
		if out := d.Output(); strings.Contains(out, "\x1b[?") || strings.Contains(out, "\x1b") != escapes || !strings.Contains(out, "○ stopped") {
			t.Errorf("%s: %q", env, out)
		}
	}
}

// A limactl that hangs, and does not mind being asked to end, delays neither the first frame nor a key nor the end.
func TestDashboardWithAHangingLimactl(t *testing.T) {
	m := booted(t)
	pidFile := filepath.Join(m.dir, "pid")
	t.Cleanup(func() { m.limactl = filepath.Join(m.dir, "real", "limactl") })
	m.script("limactl", fmt.Sprintf("trap '' TERM\necho $$ >%[1]s.new; mv %[1]s.new %[1]s\nexec sleep 300\n", pidFile))
	begun := time.Now()
	d := m.dashboard(80, 24)
	d.Shows("● running")
	t.Logf("first frame after %v", time.Since(begun))
	d.Until("limactl to hang", func(string) bool { _, err := os.Stat(pidFile); return err == nil })
	begun = time.Now()
	d.Type("j")
	d.Shows("▸ uv")
	t.Logf("key after %v", time.Since(begun))
	begun = time.Now()
	d.Type("q")
	d.Ends(5 * time.Second)
	if took := time.Since(begun); took > time.Second { // 300 ms, and a loaded machine
		t.Errorf("q took %v", took)
	} else {
		t.Logf("q took %v", took)
	}
	d.Restored()
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	for deadline := time.Now().Add(5 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("limactl (pid %d) is left behind", pid)
			break
		}
	}
}
