package attach

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

const childVariable = "HERMES_BOX_ATTACH_TEST"

// TestMain runs tm if a test started this program as tm.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		mainSession = session{workspace: filepath.Join(dir, "workspace"), mounts: filepath.Join(dir, "mounts")}
		systemTerminfo = []string{filepath.Join(dir, "terminfo")}
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// login is a machine that a test logs in to. Its only program is the real tmux, with a server of its own; script adds
// others.
type login struct {
	t    *testing.T
	dir  string
	tmux string
	term string
}

func newLogin(t *testing.T) *login {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("NOT CHECKED: tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "tm") // not t.TempDir: paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	l := &login{t: t, dir: dir, tmux: tmux, term: "xterm"}
	for _, d := range []string{"bin", "home", "workspace", "terminfo/x"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.write("terminfo/x/xterm", "")
	l.write("mounts", "24 1 0:22 / "+filepath.Join(dir, "workspace")+" rw - ext4 /dev/vdb rw\n")
	l.script("tmux", `echo "$@" >>`+dir+`/calls; exec `+tmux+` -f /dev/null "$@"`)
	t.Cleanup(func() {
		l.run("tmux", "kill-server")
		os.RemoveAll(dir)
	})
	return l
}

func (l *login) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *login) script(name, text string) {
	l.t.Helper()
	l.write("bin/"+name, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(filepath.Join(l.dir, "bin", name), 0o755); err != nil {
		l.t.Fatal(err)
	}
}

func (l *login) env() []string {
	return []string{"PATH=" + filepath.Join(l.dir, "bin"), "HOME=" + filepath.Join(l.dir, "home"), "TMUX_TMPDIR=" + l.dir, "TERM=" + l.term, "SHELL=/bin/sh",
		childVariable + "=" + l.dir}
}

// run runs a program of the machine and returns its output.
func (l *login) run(name string, args ...string) string {
	cmd := exec.Command(filepath.Join(l.dir, "bin", name), args...)
	cmd.Env = l.env()
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// attach runs tm on a terminal until tmux has drawn its screen, then calls attached and detaches. It returns what tm
// printed before tmux drew anything, and what the scripts wrote to the file calls.
func (l *login) attach(attached func(), args ...string) (before string, calls []string) {
	l.t.Helper()
	os.Remove(filepath.Join(l.dir, "calls"))
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = l.env()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		l.t.Fatal(err)
	}
	defer tty.Close()
	timer := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	var shown strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(shown.String(), "\x1b[?1049h") {
		n, err := tty.Read(buf)
		if shown.Write(buf[:n]); err != nil {
			l.t.Fatalf("%v: %q", err, shown.String())
		}
	}
	data, err := os.ReadFile(filepath.Join(l.dir, "calls"))
	if err != nil {
		l.t.Fatal(err)
	}
	if attached != nil {
		attached()
	}
	l.run("tmux", "detach-client", "-s", "=main")
	for err == nil {
		_, err = tty.Read(buf)
	}
	if err := cmd.Wait(); err != nil {
		l.t.Errorf("%v: %q", err, shown.String())
	}
	before, _, _ = strings.Cut(shown.String(), "\x1b")
	return before, strings.Split(strings.TrimSpace(string(data)), "\n")
}

// Attaching to an existing session runs tmux only once, because in an emulated guest each process costs as much as half
// a round trip. The first attach of a boot creates the session, in a scope if there is a service manager.
func TestAttachRunsTmuxOnce(t *testing.T) {
	l := newLogin(t)
	l.script("systemd-run", `echo scope >>`+l.dir+`/calls; while [ "$1" != -- ]; do shift; done; shift; exec "$@"`)
	if _, calls := l.attach(nil); len(calls) != 3 || calls[0] != "scope" || !strings.HasPrefix(calls[1], "new-session -d -s main -c "+l.dir+"/workspace") {
		t.Errorf("the first attach ran %q", calls)
	}
	before, calls := l.attach(func() {
		if got := l.run("tmux", "list-sessions", "-F", "#{session_name} #{session_path}"); got != "main "+l.dir+"/workspace\n" {
			t.Errorf("sessions %q", got)
		}
	})
	if len(calls) != 1 || before != "" {
		t.Errorf("the second attach ran %q and printed %q", calls, before)
	}
}

// Without a service manager the session is created without a scope.
func TestAttachWithoutManager(t *testing.T) {
	l := newLogin(t)
	l.attach(nil)
	// If the server has lost the session, the session is created again.
	l.run("tmux", "new-session", "-d", "-s", "other")
	l.run("tmux", "kill-session", "-t", "=main")
	if _, calls := l.attach(nil); len(calls) != 1 {
		t.Errorf("ran %q", calls)
	}
}

// The status bar shows a warning while the data disk is not mounted.
func TestBarShowsALostDataDisk(t *testing.T) {
	l := newLogin(t)
	bar := func() (options string) {
		l.attach(func() { options = l.run("tmux", "show-options", "-t", "=main:") })
		return options
	}
	mounts, err := os.ReadFile(filepath.Join(l.dir, "mounts"))
	if err != nil {
		t.Fatal(err)
	}
	l.write("mounts", "24 1 0:22 / / rw - ext4 /dev/vda rw\n")
	if got := bar(); !strings.Contains(got, "status-style bg=red") || !strings.Contains(got, "the data disk is not mounted") {
		t.Errorf("without the data disk the bar is\n%s", got)
	}
	l.write("mounts", string(mounts))
	if got := bar(); strings.Contains(got, "bg=red") || strings.Contains(got, "data disk") {
		t.Errorf("with the data disk the bar is\n%s", got)
	}
}

// For a terminal that the box does not know, tm compiles the entry that the host sends, once. Without an entry, or if
// it does not compile, tm uses a terminal that the box knows and prints a note.
func TestTerminfoIsInstalled(t *testing.T) {
	l := newLogin(t)
	real, err := exec.LookPath("tic")
	if err != nil {
		t.Skip("NOT CHECKED: tic is not installed")
	}
	l.script("tic", `echo tic >>`+l.dir+`/calls; exec `+real+` "$@"`)
	l.term = "strange"
	entry := entryFlag + base64.StdEncoding.EncodeToString([]byte("strange|a test,\n\tcols#80, cup=\\E[%i%p1%d;%p2%dH, clear=\\E[H\\E[2J, smcup=\\E[?1049h,\n"))
	l.script("printenv", `echo "$TERM"`)
	for _, c := range []struct {
		name, arg, want string
	}{
		{"no entry", entryFlag, "xterm-256color"},
		{"not base64", entryFlag + "?", "xterm-256color"},
		{"not an entry", entryFlag + base64.StdEncoding.EncodeToString([]byte("=")), "xterm-256color"},
		{"an entry", entry, "strange"},
		{"known now", entryFlag, "strange"},
	} {
		os.Remove(filepath.Join(l.dir, "calls"))
		cmd := exec.Command(os.Args[0], c.arg, "--", "printenv", "TERM")
		cmd.Env = l.env()
		var diag strings.Builder
		cmd.Stderr = &diag
		out, err := cmd.Output()
		if err != nil || string(out) != c.want+"\n" {
			t.Errorf("%s: TERM is %q, %v", c.name, out, err)
		}
		if noted := strings.Contains(diag.String(), `does not know the terminal "strange"; using xterm-256color`); noted == (c.want == "strange") {
			t.Errorf("%s: printed %q", c.name, diag.String())
		}
		if calls, _ := os.ReadFile(filepath.Join(l.dir, "calls")); c.name == "known now" && len(calls) != 0 {
			t.Errorf("%s: ran %s", c.name, calls)
		}
	}
	for _, name := range []string{"", "..", "../x/xterm", "/etc/passwd", "x\x00"} {
		if known(name) {
			t.Errorf("terminal %q counts as known", name)
		}
	}
}
