package guestfiles

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func find(t *testing.T, path string) File {
	t.Helper()
	for _, f := range All() {
		if f.Path == path {
			return f
		}
	}
	t.Fatalf("no %s", path)
	return File{}
}

// run checks a file with the program that will read it, and skips the test if the program is not installed.
func run(t *testing.T, f File, program string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(f.Path))
	if err := os.WriteFile(path, f.Data, f.Mode); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, append(args, path)...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", program, f.Path, err, out)
	}
	return string(out)
}

func TestModes(t *testing.T) {
	for _, f := range All() {
		if !filepath.IsAbs(f.Path) || len(f.Data) == 0 {
			t.Errorf("%q has %d bytes; want an absolute path and some content", f.Path, len(f.Data))
		}
		if executable := strings.HasPrefix(string(f.Data), "#!"); executable != (f.Mode == 0o755) {
			t.Errorf("%s has mode %v", f.Path, f.Mode)
		}
	}
	for _, path := range []string{TerminfoSource, SSHD} {
		find(t, path)
	}
}

func TestShell(t *testing.T) {
	run(t, find(t, "/etc/profile.d/zz-hermes-box.sh"), "sh", "-n")
}

// Without a terminal the profile does not run tm, even if the environment is that of an ssh login.
func TestProfileStaysQuiet(t *testing.T) {
	f := find(t, "/etc/profile.d/zz-hermes-box.sh")
	path := filepath.Join(t.TempDir(), "profile.sh")
	if err := os.WriteFile(path, f.Data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{{}, {"SSH_TTY=/dev/pts/1"}, {"SSH_TTY=/dev/pts/1", "TMUX=x"}} {
		for _, flags := range []string{"-c", "-ic"} {
			cmd := exec.Command("bash", "--norc", flags, "tm() { echo TM; }; . "+path+"; echo here")
			cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
			out, err := cmd.Output()
			if err != nil || string(out) != "here\n" {
				t.Errorf("%v %s: %q, %v", env, flags, out, err)
			}
		}
	}
}

func TestTerminfoCompiles(t *testing.T) {
	if out := run(t, find(t, TerminfoSource), "tic", "-c", "-x"); out != "" {
		t.Errorf("tic complains:\n%s", out)
	}
}

func TestTmuxAcceptsConf(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	path := filepath.Join(t.TempDir(), "tmux.conf")
	if err := os.WriteFile(path, find(t, "/etc/tmux.conf").Data, 0o644); err != nil {
		t.Fatal(err)
	}
	// A separate tmux server, not one of the user who runs the tests.
	socket := filepath.Join(t.TempDir(), "s")
	tmux := func(args ...string) (string, error) {
		out, err := exec.Command("tmux", append([]string{"-S", socket, "-f", path}, args...)...).CombinedOutput()
		return string(out), err
	}
	defer tmux("kill-server")
	if out, err := tmux("new-session", "-d", "-x", "80", "-y", "24", "cat"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for option, want := range map[string]string{"mouse": "on", "focus-events": "on", "set-clipboard": "on",
		"extended-keys": "always", "status-style": "bg=green,fg=black", "default-terminal": "tmux-256color"} {
		if out, err := tmux("show-options", "-gqv", option); err != nil || strings.TrimSpace(out) != want {
			if out, err = tmux("show-options", "-sqv", option); err != nil || strings.TrimSpace(out) != want {
				t.Errorf("%s is %q; want %q", option, strings.TrimSpace(out), want)
			}
		}
	}
}

// sshd prints neither the message of the day nor the last login, because tmux would cover them at once.
func TestLoginIsQuiet(t *testing.T) {
	text := string(find(t, SSHD).Data)
	for _, want := range []string{"\nPrintMotd no\n", "\nPrintLastLog no\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, SSHD)
		}
	}
}
