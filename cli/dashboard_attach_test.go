package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hermes-box/internal/ttytest"
)

// booted is a finished box whose VM runs; the guest in it does not answer for want of a helper.
func booted(t *testing.T) *machine {
	m := newMachine(t)
	m.finished()
	if _, stderr, err := m.run("limactl", "start", "--tty=false", "main"); err != nil {
		t.Fatal(err, stderr)
	}
	return m
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

// session has ssh run a shell's script in place of a session in the box; the rest of what it is for goes on.
func (m *machine) session(script string) {
	m.t.Helper()
	m.write("session", []byte(script))
	m.script("ssh", `for a; do [ "$a" = -t ] && exec sh `+filepath.Join(m.dir, "session")+`; done
exec $REAL "$@"`)
}

// taken fails unless the terminal is the dashboard's again.
func taken(t *testing.T, d *ttytest.Terminal) {
	t.Helper()
	if !d.Mode(1002) || !d.Mode(1049) {
		t.Error("the mouse or the alternate screen has not come back")
	}
}

// The terminal goes to the box and comes back as it was: modes, size and keys.
func TestDashboardAttaches(t *testing.T) {
	m := booted(t)
	m.session(`printf "\033[2J\033[Hin the box: "; stty size; read line; echo "heard $line"; read line`)
	// A resize meanwhile is a race within Bubble Tea, which looks at its terminal while it takes it back.
	d := m.dashboard("a attach", "GORACE=atexit_sleep_ms=0 exitcode=0 log_path="+filepath.Join(t.TempDir(), "race"))
	d.Type("ja", "in the box: 24 80")
	d.Resize(100, 30)
	d.Type("hello\n", "heard hello")
	d.Type("\n", "▸ uv", strings.Repeat("─", 60)) // at its new size
	taken(t, d)
	d.Type("k", "▸ node")
	d.Type("q")
	ends(t, d, 0)
}

// A session that fails is told with what it said last, and stays told until it is read.
func TestDashboardKeepsWhatAFailedAttachSaid(t *testing.T) {
	m := booted(t)
	m.session(asks + `echo "kex_exchange: reset by peer" >&2; exit 255`)
	d := m.dashboard("a attach")
	d.Type("a", "press enter to go back to the dashboard", "reset by peer")
	d.Type("\n", "✗ attach failed", "the session ended with status 255", "kex_exchange: reset by peer")
	d.Type(esc) // a key in flight is not an answer
	rest()
	d.Shows("✗ attach failed")
	d.Type(esc)
	d.Hides("attach failed")
	d.Type("e", "✗ attach failed")
	d.Type("qq")
	ends(t, d, 0)
}

// A dashboard that is ended while the terminal is the box's gives it back.
func TestDashboardEndsWhileAttached(t *testing.T) {
	m := booted(t)
	m.session(asks + `echo "in the box"; exec sleep 300`)
	d := m.dashboard("a attach")
	d.Type("a", "in the box")
	d.Signal(syscall.SIGTERM)
	ends(t, d, exitInterrupted)
}

// Signing in has the terminal for as long as it takes, and the dashboard then shows what has come of it.
func TestDashboardSignsIn(t *testing.T) {
	m := newInhabited(t)
	d := m.dashboard("1 sign in to Claude")
	d.Type("1", "Paste the code")
	d.Signal(syscall.SIGINT) // ctrl-c is heard by all that are in the foreground, and meant for the one that has the terminal
	d.Type("code\n", "1 sign in to Codex")
	taken(t, d)

	// All of it, left again.
	d.Type("w", "Sign in to box main: 1 of 6 done", "▸ ◦ Codex")
	d.Type(esc, "1 sign in to Codex")

	// What went wrong is read before the dashboard draws over it.
	d.Type("1", "Press enter when it is done")
	d.Type(endOfInput, "press enter to go back to the dashboard", "hermes-box: codex login --device-auth ended with status 1")
	d.Type("\n", "signing in ended with status 1; w continues")
	d.Type("j", "▸ uv")
	d.Type("q")
	ends(t, d, 0)
}

// A dashboard that is ended while somebody signs in gives the terminal back, and nothing stays behind.
func TestDashboardEndsWhileSigningIn(t *testing.T) {
	m := newInhabited(t)
	d := m.dashboard("w sign in")
	d.Type("w", "▸ ◦ Claude Code")
	d.Signal(syscall.SIGTERM)
	ends(t, d, exitInterrupted)
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline") // none on macOS
	for _, p := range processes {
		if line, _ := os.ReadFile(p); strings.Contains(string(line), "\x00login\x00") && strings.Contains(string(line), m.dir) {
			t.Errorf("still running: %q", line)
		}
	}
}
