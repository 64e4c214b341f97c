package ssh_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
)

func TestExecArguments(t *testing.T) { eachBox(t, testExecArguments) }

func testExecArguments(t *testing.T, on target) {
	args := []string{
		"", " ", "a b", "'", `"`, `\`, "$HOME", "`id`", "$(id)", "*", "~", "a\nb", "\n", "\r", "\t", "--flag", "-n", "--", "-",
		"!x", "#", ";", "&", "|", "<", ">", "a=b", "\x80\xff", "\xc3", "ä→", "%s", "\x01\x1b[31m", strings.Repeat("x", 5000), "'\\''", "\\n",
	}
	// printf prints each of its arguments followed by a NUL.
	out, _, err := on.exec(t.Context(), ssh.Exec{Args: append([]string{"printf", `%s\0`}, args...)})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if len(got) != len(args) {
		t.Fatalf("%d arguments arrived as %d: %q", len(args), len(got), got)
	}
	for i := range args {
		if got[i] != args[i] {
			t.Errorf("%q arrived as %q", args[i], got[i])
		}
	}
	if err := on.client.Exec(t.Context(), on.name, ssh.Exec{Args: []string{"a\x00b"}}); err == nil {
		t.Error("a NUL was accepted")
	}
	// With the script, all arguments are part of one argument of the remote shell. The helper gets them over stdin.
	long := ssh.Exec{Args: []string{"true", strings.Repeat("x", 100<<10), strings.Repeat("y", 100<<10)}}
	switch err := on.client.Exec(t.Context(), on.name, long); {
	case on.client.Helper == "" && (err == nil || !strings.Contains(err.Error(), "too long")):
		t.Errorf("200 KiB through the script: %v", err)
	case on.client.Helper != "" && err != nil:
		t.Errorf("200 KiB through the helper: %v", err)
	}
	if err := on.client.Exec(t.Context(), on.name, ssh.Exec{}); err == nil {
		t.Error("an empty command was accepted")
	}
}

func TestExecStatus(t *testing.T) { eachBox(t, testExecStatus) }

func testExecStatus(t *testing.T, on target) {
	for _, want := range []int{0, 1, 2, 126, 127, 128, 130, 254, 255} {
		err := on.client.Exec(t.Context(), on.name, ssh.Exec{Args: []string{"sh", "-c", "exit " + strconv.Itoa(want)}})
		var exit *ssh.ExitError
		switch {
		case want == 0 && err != nil:
			t.Errorf("status 0: %v", err)
		case want != 0 && (!errors.As(err, &exit) || exit.Status != want):
			t.Errorf("status %d: %v", want, err)
		}
	}
	for name, tt := range map[string]struct {
		args []string
		want int
		says string
	}{
		"killed":                  {[]string{"sh", "-c", "kill -TERM $$"}, 128 + 15, ""},
		"not found":               {[]string{"no-such-program"}, 127, "no-such-program: command not found\n"},
		"name of a shell builtin": {[]string{"exit", "3"}, 127, "exit: command not found\n"},
	} {
		_, diag, err := on.exec(t.Context(), ssh.Exec{Args: tt.args})
		var exit *ssh.ExitError
		if !errors.As(err, &exit) || exit.Status != tt.want || diag != tt.says {
			t.Errorf("%s: %v (%q)", name, err, diag)
		}
	}
}

func TestExecStreams(t *testing.T) { eachBox(t, testExecStreams) }

func testExecStreams(t *testing.T, on target) {
	data := make([]byte, 3<<20)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if err := on.client.Exec(t.Context(), on.name, ssh.Exec{Args: []string{"cat"}, Stdin: bytes.NewReader(data), Stdout: sum}); err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256(data); !bytes.Equal(sum.Sum(nil), want[:]) {
		t.Error("3 MiB came back changed")
	}
	out, diag, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sh", "-c", "echo out; echo err >&2"}})
	if err != nil || out != "out\n" || diag != "err\n" {
		t.Errorf("out %q, err %q, %v", out, diag, err)
	}
	// Without Stdin, a command reads EOF immediately.
	if out, _, err := on.exec(t.Context(), ssh.Exec{Args: []string{"wc", "-c"}}); err != nil || strings.TrimSpace(out) != "0" {
		t.Errorf("no stdin: %q, %v", out, err)
	}
	// A command that does not read its stdin can exit although there is more to read.
	endless, w := io.Pipe()
	defer w.Close()
	if err := on.client.Exec(t.Context(), on.name, ssh.Exec{Args: []string{"true"}, Stdin: endless}); err != nil {
		t.Error(err)
	}
	// The error of a writer is not reported as a failure of the connection.
	err = on.client.Exec(t.Context(), on.name, ssh.Exec{Args: []string{"sh", "-c", "yes"}, Stdout: failingWriter{}})
	if !errors.Is(err, errTest) {
		t.Errorf("a writer that fails: %v", err)
	}
}

func TestExecEnvAndDir(t *testing.T) { eachBox(t, testExecEnvAndDir) }

func testExecEnvAndDir(t *testing.T, on target) {
	home, _, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sh", "-c", "mkdir -p -- '-a dir'; rm -f made; pwd"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(home) + "/-a dir"
	out, _, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sh", "-c", `printf '%s|%s' "$X" "$PWD"`}, Env: []string{"X=a b\n'"}, Dir: "-a dir"})
	if err != nil || out != "a b\n'|"+dir {
		t.Errorf("got %q, %v", out, err)
	}
	var exit *ssh.ExitError
	if _, _, err := on.exec(t.Context(), ssh.Exec{Args: []string{"touch", "made"}, Dir: "no such"}); !errors.As(err, &exit) || exit.Status != 126 {
		t.Errorf("no such directory: %v", err)
	}
	if _, _, err := on.exec(t.Context(), ssh.Exec{Args: []string{"test", "!", "-e", "made"}}); err != nil {
		t.Error("the command ran in another directory")
	}
	if _, _, err := on.exec(t.Context(), ssh.Exec{Args: []string{"rmdir", "--", "-a dir"}}); err != nil {
		t.Error(err)
	}
}

// A login script that prints on both streams does not mix with the output of the command.
func TestLoginNoise(t *testing.T) {
	c := running(t)
	on := target{c, box}
	inject(t, c, rehearsal.LoginNoise)
	out, diag, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sh", "-c", "echo out; echo err >&2; exit 5"}})
	var exit *ssh.ExitError
	if out != "out\n" || diag != "err\n" || !errors.As(err, &exit) || exit.Status != 5 {
		t.Errorf("out %q, err %q, %v", out, diag, err)
	}
}

func TestExecWithoutConnection(t *testing.T) {
	c := stage(t)
	var failed *ssh.TransportError
	if err := c.Exec(t.Context(), box, ssh.Exec{Args: []string{"true"}}); !errors.As(err, &failed) || failed.Started {
		t.Errorf("never started: %v", err)
	}
	if err := c.Start(t.Context(), box, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(t.Context(), box, false, time.Minute); err != nil {
		t.Fatal(err)
	}
	err := c.Exec(t.Context(), box, ssh.Exec{Args: []string{"true"}})
	if !errors.As(err, &failed) || failed.Started || !strings.Contains(err.Error(), "Connection refused") {
		t.Errorf("stopped: %v", err)
	}
}

// A lost connection is not reported as a command that exited with 255.
func TestConnectionLost(t *testing.T) {
	c := running(t)
	on := target{c, box}
	inject(t, c, rehearsal.ConnectLost)
	_, diag, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sleep", "600"}})
	var failed *ssh.TransportError
	if !errors.As(err, &failed) || !failed.Started {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(diag, "Broken pipe") {
		t.Errorf("stderr %q", diag)
	}
}

// If the shared connection does not answer, as after the host has slept, Exec replaces it within seconds and runs the
// command once.
func TestStaleMaster(t *testing.T) {
	t.Parallel()
	c := running(t)
	on := target{c, box}
	inject(t, c, rehearsal.StaleMaster)
	count := ssh.Exec{Args: []string{"sh", "-c", "echo x >>count; wc -l <count"}}
	begin := time.Now()
	if out, _, err := on.exec(t.Context(), count); err != nil || strings.TrimSpace(out) != "1" {
		t.Fatalf("got %q, %v", out, err)
	}
	if took := time.Since(begin); took > 6*time.Second {
		t.Errorf("took %v", took)
	}
	// The hung connection was dropped: the next one does not wait.
	begin = time.Now()
	if out, _, err := on.exec(t.Context(), count); err != nil || strings.TrimSpace(out) != "2" {
		t.Fatalf("got %q, %v", out, err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the next command took %v", took)
	}
}

// Reconnect tries again if sshd refuses connections, as it does for a moment while it reloads its configuration.
func TestReconnectIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := running(t)
	inject(t, c, rehearsal.SSHRefused)
	refused := make(chan bool, 100)
	c.Log = func(_ context.Context, run ssh.Run) {
		if run.Status == ssh.Lost && run.Args[len(run.Args)-2] == "lima-main" {
			refused <- true
		}
	}
	done := make(chan error, 1)
	go func() { done <- c.Reconnect(t.Context(), box) }()
	select {
	case <-refused:
		heal(t, c, rehearsal.SSHRefused)
	case err := <-done:
		t.Fatalf("not refused: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestExecCancelled(t *testing.T) {
	t.Parallel()
	eachBox(t, testExecCancelled)
}

func testExecCancelled(t *testing.T, on target) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &firstWrite{seen: make(chan string, 1)}
	done := make(chan error, 1)
	go func() {
		done <- on.client.Exec(ctx, on.name, ssh.Exec{Args: []string{"sh", "-c", "echo $$; exec sleep 600"}, Stdout: out})
	}()
	pid := atoi(t, <-out.seen)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	awaitGone(t, on, pid)
}

// If hermes-box is killed, the remote command is killed too, even if it ignores SIGHUP.
func TestRemoteCommandEndsWithTheProgram(t *testing.T) {
	if name := os.Getenv("HERMES_BOX_TEST_EXEC"); name != "" {
		c := limactl.New(limactl.Config{SSH: os.Getenv("SSH_PROGRAM"), Home: os.Getenv("HOME_OF_LIMA")})
		err := c.Exec(context.Background(), name, ssh.Exec{Args: []string{"sh", "-c", "trap '' HUP TERM; echo $$; while :; do sleep 1; done"}, Stdout: os.Stdout})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	t.Parallel()
	eachBox(t, testRemoteEndsWithUs)
}

func testRemoteEndsWithUs(t *testing.T, on target) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestRemoteCommandEndsWithTheProgram$")
	cmd.Env = append(os.Environ(), "HERMES_BOX_TEST_EXEC="+on.name, "SSH_PROGRAM="+on.client.Program, "HOME_OF_LIMA="+on.client.Home())
	out := &firstWrite{seen: make(chan string, 1)}
	cmd.Stdout = out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := atoi(t, <-out.seen)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitGone(t, on, pid)
}

func TestAttach(t *testing.T) {
	c := running(t)
	cmd, err := c.Attach(t.Context(), box, ssh.Terminal{}, "a program", "arg")
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(cmd.Args, " ")
	for _, want := range []string{"-F " + c.Dir(box) + "/ssh.config", "-o ForwardAgent=no", "-o ForwardX11=no", "-e none", "-t -- lima-main", "exec 'a program' arg"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	if cmd.Process != nil {
		t.Error("Attach started the login")
	}
	if err := c.Stop(t.Context(), box, false, time.Minute); err != nil {
		t.Fatal(err)
	}
	var failed *ssh.TransportError
	if _, err := c.Attach(t.Context(), box, ssh.Terminal{}); !errors.As(err, &failed) {
		t.Errorf("attach to a stopped box: %v", err)
	}
}

// Attach checks the shared connection first and replaces it if it hangs, because a session on a terminal sends no signs
// of life.
func TestAttachReplacesAHungMaster(t *testing.T) {
	t.Parallel()
	c := running(t)
	inject(t, c, rehearsal.StaleMaster)
	begin := time.Now()
	if _, err := c.Attach(t.Context(), box, ssh.Terminal{}); err != nil {
		t.Fatal(err)
	}
	if rehearsal.Has(c.Home(), rehearsal.StaleMaster) {
		t.Error("the hung connection is still there")
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestExecTTY(t *testing.T) {
	c := running(t)
	on := target{c, box}
	out, _, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sh", "-c", "echo out; exit 255"}, TTY: true})
	var exit *ssh.ExitError
	if out != "out\r\n" || !errors.As(err, &exit) || exit.Status != 255 {
		t.Errorf("out %q, %v", out, err)
	}
}

// firstWrite sends the first data written to it to a channel.
type firstWrite struct {
	seen chan string
	done bool
}

func (f *firstWrite) Write(p []byte) (int, error) {
	if !f.done {
		f.done = true
		f.seen <- string(p)
	}
	return len(p), nil
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitGone waits until a process in the instance has ended.
func awaitGone(t *testing.T, on target, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// A zombie has no command line.
	script := fmt.Sprintf("while [ -n \"$(ps -o args= -p %d | grep -v defunct)\" ]; do sleep 0.1; done", pid)
	if err := on.client.Exec(ctx, on.name, ssh.Exec{Args: []string{"sh", "-c", script}}); err != nil {
		t.Fatalf("pid %d still runs: %v", pid, err)
	}
}

// If the shell that runs a command is killed, for example by the OOM killer, the signs of life stop and Exec returns
// an error. Otherwise Exec would wait forever, since nothing reports the end of the command.
func TestExecEndsWhenTheRemoteShellDies(t *testing.T) {
	c := running(t)
	on := target{c, box}
	c.Silence = 8 * time.Second // the script sends a sign of life every five seconds
	_, _, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sh", "-c", "kill -KILL $PPID; sleep 600"}})
	if err == nil {
		t.Error("no error, although the end of the command was not reported")
	}
}

// Stderr has only the output of the command, and no message of bash about a child that a signal ended, such as the
// script's own watcher.
func TestExecStderrHasOnlyTheCommand(t *testing.T) { eachBox(t, testExecStderrHasOnlyTheCommand) }

func testExecStderrHasOnlyTheCommand(t *testing.T, on target) {
	for range 25 {
		if _, diag, err := on.exec(t.Context(), ssh.Exec{Args: []string{"true"}}); diag != "" || err != nil {
			t.Fatalf("true: stderr %q, %v", diag, err)
		}
	}
	_, diag, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sh", "-c", "echo mine >&2; kill -KILL $$"}})
	var exit *ssh.ExitError
	if diag != "mine\n" || !errors.As(err, &exit) || exit.Status != 137 {
		t.Errorf("a killed command: stderr %q, %v", diag, err)
	}
}

var errTest = errors.New("test")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errTest }

// If the helper is too old for channels, of another version or damaged, the script runs the command, and runs it once.
func TestExecWithAnotherHelper(t *testing.T) {
	t.Parallel()
	c := running(t)
	on := target{c, box}
	for name, text := range map[string]string{
		"too old":                              "echo usage >&2; exit 2",
		"of another version":                   "printf '%s*999;' \"$2\"; cat",
		"damaged":                              "exit 126",
		"of another version, with login noise": "echo noise; echo noise >&2; printf '%s*999;' \"$2\"; cat",
	} {
		c.Helper = filepath.Join(t.TempDir(), "helper")
		if err := os.WriteFile(c.Helper, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		out, diag, err := on.exec(t.Context(), ssh.Exec{Args: []string{"sh", "-c", "echo once; exit 3"}})
		var exit *ssh.ExitError
		if !errors.As(err, &exit) || exit.Status != 3 || out != "once\n" || diag != "" {
			t.Errorf("%s: %q, %q, %v", name, out, diag, err)
		}
		var helper *ssh.HelperError
		if err := c.Call(t.Context(), box, ssh.Call{Verb: "status"}, nil); !errors.As(err, &helper) {
			t.Errorf("%s: a verb: %v", name, err)
		}
	}
}

// The helper replaces the shell that sshd starts, for a verb and for a command, and no other process runs: in an
// emulated guest each process costs as much as half a round trip.
func TestHelperIsTheOnlyProcess(t *testing.T) {
	c := running(t)
	pids := filepath.Join(t.TempDir(), "pids")
	c.Helper = filepath.Join(t.TempDir(), "helper")
	// The stand-in for sshd runs a command in a session of its own: its leader is the shell that was started first.
	if err := os.WriteFile(c.Helper, []byte("#!/bin/sh\necho $$ $(ps -o sid= -p $$) >>"+pids+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), box, ssh.Call{Verb: "status"}, nil); err == nil {
		t.Error("no error from a helper that fails")
	}
	if err := c.Exec(t.Context(), box, ssh.Exec{Args: []string{"true"}}); err == nil {
		t.Error("no error from a command whose helper fails")
	}
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 2 {
		t.Errorf("%d helpers ran", len(lines))
	}
	for _, line := range lines {
		if ids := strings.Fields(line); len(ids) != 2 || ids[0] != ids[1] {
			t.Errorf("the helper is a child of another process: pid and session %q", line)
		}
	}
}
