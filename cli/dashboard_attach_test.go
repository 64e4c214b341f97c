package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hermes-box/internal/ttytest"
)

// newBootedMachine returns a machine with a box whose VM runs; its guest does not answer, because it has no helper.
func newBootedMachine(t *testing.T) *machine {
	m := newMachine(t)
	m.makeStoppedBox()
	if _, stderr, err := m.run("limactl", "start", "--tty=false", "main"); err != nil {
		t.Fatal(err, stderr)
	}
	return m
}

// script replaces a program of the machine, such as ssh, with a shell script, in which $REAL is the replaced program.
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
	syscall.ForkLock.RLock() // a child that another test forks now would keep the file open: text file busy
	err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nREAL="+real+"\n"+text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		m.t.Fatal(err)
	}
}

// session makes ssh run a shell script instead of a session in the box; other calls of ssh run as before.
func (m *machine) session(script string) {
	m.t.Helper()
	m.write("session", []byte(script))
	m.script("ssh", `for a; do [ "$a" = -t ] && exec sh `+filepath.Join(m.dir, "session")+`; done
exec $REAL "$@"`)
}

// wantDashboardModes fails unless the terminal has the dashboard's modes again.
func wantDashboardModes(t *testing.T, d *ttytest.Terminal) {
	t.Helper()
	if !d.Mode(1002) || !d.Mode(1049) {
		t.Error("the mouse or the alternate screen is not on again")
	}
}

// Attaching lends the terminal to the session. Afterwards the dashboard has its modes and keys again, and draws at the
// new size of the terminal.
func TestDashboardAttaches(t *testing.T) {
	t.Parallel()
	m := newBootedMachine(t)
	m.session(`printf "\033[2J\033[Hin the box: "; stty size; read line; echo "heard $line"; read line`)
	// Bubble Tea has a data race if the terminal is resized during the session: RestoreTerminal sets a field that the
	// goroutine for resizes reads. GORACE keeps a report of that race from failing the test.
	d := m.dashboard("a attach", "GORACE=atexit_sleep_ms=0 exitcode=0 log_path="+filepath.Join(t.TempDir(), "race"))
	d.Type("ja", "in the box: 24 80")
	d.Resize(100, 30)
	d.Type("hello\n", "heard hello")
	d.Type("\n", "▸ uv", strings.Repeat("─", 60)) // at its new size
	wantDashboardModes(t, d)
	d.Type("k", "▸ node")
	d.Type("q")
	wantExit(t, d, 0)
}

// If a session fails, the dashboard shows the last line that the session printed, until the user closes the error.
func TestDashboardKeepsWhatAFailedAttachSaid(t *testing.T) {
	t.Parallel()
	m := newBootedMachine(t)
	m.session(setModes + `echo "kex_exchange: reset by peer" >&2; exit 255`)
	d := m.dashboard("a attach")
	d.Type("a", "press enter to go back to the dashboard", "reset by peer")
	d.Type("\n", "✗ attach failed", "the session ended with status 255", "kex_exchange: reset by peer")
	d.Type(esc) // ignored, since it may have been typed before the dialog appeared
	awaitKeys()
	d.Shows("✗ attach failed")
	d.Type(esc)
	d.Hides("attach failed")
	d.Type("e", "✗ attach failed")
	d.Type("qq")
	wantExit(t, d, 0)
}

// A dashboard that is terminated during a session restores the terminal.
func TestDashboardEndsWhileAttached(t *testing.T) {
	t.Parallel()
	m := newBootedMachine(t)
	m.session(setModes + `echo "in the box"; exec sleep 300`)
	d := m.dashboard("a attach")
	d.Type("a", "in the box")
	d.Signal(syscall.SIGTERM)
	wantExit(t, d, exitInterrupted)
}

// A sign-in uses the terminal until it ends, and the dashboard then shows its result.
func TestDashboardSignsIn(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	d := m.dashboard("1 sign in to Claude")
	d.Type("1", "Paste the code")
	d.Signal(syscall.SIGINT) // ctrl-c reaches every foreground process; the dashboard must ignore it here
	d.Type("code\n", "1 sign in to Codex")
	wantDashboardModes(t, d)

	// The list of all steps opens, and esc leaves it.
	d.Type("w", "Sign in to box main: 1 of 6 done", "▸ ◦ Codex")
	d.Type(esc, "1 sign in to Codex")

	// An error stays on the screen until enter is typed.
	d.Type("1", "Press enter when it is done")
	d.Type(endOfInput, "press enter to go back to the dashboard", "hermes-box: codex login --device-auth ended with status 1")
	d.Type("\n", "signing in ended with status 1; w continues")
	d.Type("j", "▸ uv")
	d.Type("q")
	wantExit(t, d, 0)
}

// A dashboard that is terminated during a sign-in restores the terminal and leaves no process behind.
func TestDashboardEndsWhileSigningIn(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	d := m.dashboard("w sign in")
	d.Type("w", "▸ ◦ Claude Code")
	d.Signal(syscall.SIGTERM)
	wantExit(t, d, exitInterrupted)
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline") // empty on macOS
	for _, p := range processes {
		if line, _ := os.ReadFile(p); strings.Contains(string(line), "\x00login\x00") && strings.Contains(string(line), m.dir) {
			t.Errorf("still running: %q", line)
		}
	}
}
