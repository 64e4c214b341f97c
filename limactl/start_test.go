package limactl

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-box/internal/rehearsal"
)

// boot starts an instance in the background. It returns a channel of its events and one of the result of Start.
func boot(ctx context.Context, c *Client, name string) (<-chan BootEvent, <-chan error) {
	events, done := make(chan BootEvent, 100), make(chan error, 1)
	go func() { done <- c.Start(ctx, name, time.Minute, func(e BootEvent) { events <- e }) }()
	return events, done
}

// await receives events until want returns true for one.
func await(t *testing.T, events <-chan BootEvent, done <-chan error, want func(BootEvent) bool) {
	t.Helper()
	for {
		select {
		case e := <-events:
			if want(e) {
				return
			}
		case err := <-done:
			t.Fatalf("start ended with %v before the event", err)
		}
	}
}

func TestStart(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	if got := c.Peek("main"); got != Stopped {
		t.Errorf("Peek = %s", got)
	}
	var lines, ports, ups int
	if err := c.Start(t.Context(), "main", time.Minute, func(e BootEvent) {
		if e.Line != "" {
			lines++
		}
		if e.SSHPort != 0 {
			ports++
		}
		if e.Running {
			ups++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if lines == 0 || ports == 0 || ups != 1 {
		t.Errorf("%d lines, %d with a port, %d running", lines, ports, ups)
	}
	in := wantState(t, c, "main", Running)
	if in.SSHPort == 0 || in.PID == 0 {
		t.Errorf("got %+v", in)
	}
	if got := c.Peek("main"); got != Running {
		t.Errorf("Peek = %s", got)
	}
	// Starting a running instance does nothing and sends no events.
	if err := c.Start(t.Context(), "main", time.Minute, func(BootEvent) { t.Error("an event of an instance that runs already") }); err != nil {
		t.Fatal(err)
	}
	if got := c.Peek("none"); got != Absent {
		t.Errorf("Peek of none = %s", got)
	}
	if err := c.Start(t.Context(), "none", time.Minute, nil); !errors.Is(err, ErrNotFound) {
		// Lima itself would download its default template and start an instance from it.
		t.Errorf("starting none: %v", err)
	}
}

// Lima calls an instance Broken while it starts (lima #4407).
func TestBrokenWhileStarting(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	inject(t, c, rehearsal.HoldAgent, rehearsal.HoldBoot)
	events, done := boot(t.Context(), c, "main")
	await(t, events, done, func(e BootEvent) bool { return e.Waits == "ssh" })
	for !readPID(c.Dir("main"), "ha.pid").ours {
		time.Sleep(time.Millisecond)
	}
	if in := wantState(t, c, "main", Starting); in.Raw != "Broken" {
		t.Errorf("Lima says %q", in.Raw)
	}
	heal(t, c, rehearsal.HoldAgent)
	await(t, events, done, func(e BootEvent) bool { return e.SSHPort != 0 })
	if in := wantState(t, c, "main", Starting); in.Raw != "Running" {
		t.Errorf("Lima says %q", in.Raw)
	}
	if got := c.Peek("main"); got != Starting {
		t.Errorf("Peek = %s", got)
	}
	// A second start waits for the first.
	_, second := boot(t.Context(), c, "main")
	heal(t, c, rehearsal.HoldBoot)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
	wantState(t, c, "main", Running)
}

func TestStartFails(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	inject(t, c, rehearsal.StartFails)
	err := c.Start(t.Context(), "main", time.Minute, nil)
	var failed *StartError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "failed to initialize kvm: Permission denied") {
		t.Errorf("qemu's reason is not in: %v", err)
	}
	if !strings.Contains(failed.Serial, "Linux version") {
		t.Errorf("console: %q", failed.Serial)
	}
	wantState(t, c, "main", Stopped)
	heal(t, c, rehearsal.StartFails)
	if err := c.Start(t.Context(), "main", time.Minute, nil); err != nil {
		t.Fatalf("the next start: %v", err)
	}
}

func TestStartTimeout(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	inject(t, c, rehearsal.HoldBoot)
	err := c.Start(t.Context(), "main", 200*time.Millisecond, nil)
	var failed *StartError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v", err)
	}
	wantState(t, c, "main", Starting)
}

// A canceled start returns, and the boot continues.
func TestStartCancelled(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	inject(t, c, rehearsal.HoldBoot)
	ctx, cancel := context.WithCancel(t.Context())
	events, done := boot(ctx, c, "main")
	await(t, events, done, func(e BootEvent) bool { return e.SSHPort != 0 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	wantState(t, c, "main", Starting)
	heal(t, c, rehearsal.HoldBoot)
	if err := c.Start(t.Context(), "main", time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, "main", Running)
}

// If a start is canceled before the host agent has written its pid file, Start waits for the file, so that Kill finds
// the host agent.
func TestStartCancelledBeforeThePIDFile(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	inject(t, c, rehearsal.AgentSlow, rehearsal.HoldBoot)
	ctx, cancel := context.WithCancel(t.Context())
	events, done := boot(ctx, c, "main")
	await(t, events, done, func(e BootEvent) bool { return strings.Contains(e.Line, "essential requirement") })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if !readPID(c.Dir("main"), "ha.pid").ours {
		t.Error("the host agent has no pid file")
	}
	if err := c.Kill(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "main"); err != nil {
		t.Error(err)
	}
}

// The host agent and qemu run in another session and process group, so that a closing terminal does not end them.
func TestHostAgentIsDetached(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	in := wantState(t, c, "main", Running)
	for _, p := range []process{readPID(in.Dir, "ha.pid"), readPID(in.Dir, "qemu.pid")} {
		if !p.ours {
			t.Fatalf("not running: %+v", p)
		}
		sid, err := unix.Getsid(p.pid)
		if err != nil {
			t.Fatal(err)
		}
		if own, _ := unix.Getsid(0); sid == own {
			t.Errorf("pid %d is in our session", p.pid)
		}
		if pgid, _ := unix.Getpgid(p.pid); pgid == unix.Getpgrp() {
			t.Errorf("pid %d is in our process group", p.pid)
		}
	}
}

func TestFollowIgnoresAnEarlierRun(t *testing.T) {
	log := filepath.Join(t.TempDir(), "ha.stdout.log")
	begin := time.Now()
	old := `{"time":"2020-01-01T00:00:00Z","status":{"running":true}}` + "\n"
	if err := os.WriteFile(log, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan BootEvent, 10)
	done := make(chan struct{})
	go func() { follow(ctx, log, begin, func(e BootEvent) { got <- e }); close(done) }()
	// Replace the log, and write a line in two parts.
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	line := `{"time":"` + begin.Add(time.Second).Format(time.RFC3339Nano) + `","status":{"sshLocalPort":7}}` + "\n"
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range []string{line[:20], line[20:]} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
	}
	if e := <-got; e.SSHPort != 7 {
		t.Errorf("got %+v", e)
	}
	cancel()
	<-done
	if len(got) != 0 {
		t.Errorf("another event: %+v", <-got)
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-01T00:00:00Z","status":{"running":true,"portForward":{"type":"forwarding"}}}`))
	f.Add([]byte(`{"time":"2026-01-01T00:00:00Z","status":{"cloudInitProgress":{"logLine":"x"}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if e, ok := decodeEvent(line); ok && e.Time.IsZero() {
			t.Error("an event without a time")
		}
	})
}

// accelEnv selects tcg if /dev/kvm exists but cannot be used, and one thread if qemu is old, unless the user has set a
// qemu command.
func TestAccelEnv(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"qemu-system-x86_64", "qemu-system-aarch64"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	c := New(Config{Home: "/h", Env: []string{}})
	c.probe = func() Accel { return Accel{Name: "kvm"} }
	if env := c.accelEnv(); env != nil {
		t.Errorf("with kvm: %q", env)
	}
	c.probe = func() Accel { return Accel{Name: "tcg", Reason: "no /dev/kvm"} }
	if env := c.accelEnv(); env != nil {
		t.Errorf("without /dev/kvm, where Lima chooses tcg itself: %q", env)
	}
	c.probe = func() Accel { return Accel{Name: "tcg", Reason: "permission denied", forced: true} }
	env := c.accelEnv()
	if len(env) != 1 || !strings.HasPrefix(env[0], "QEMU_SYSTEM_") || !strings.Contains(env[0], "accel=tcg -cpu max") || !strings.Contains(env[0], bin) {
		t.Errorf("with a /dev/kvm that does not work: %q", env)
	}
	c.probe = func() Accel { return Accel{Name: "tcg", Reason: "no /dev/kvm", OldQEMU: "7.2"} }
	if env := c.accelEnv(); len(env) != 1 || !strings.Contains(env[0], " -accel tcg,thread=single -cpu max") {
		t.Errorf("with an old qemu: %q", env)
	}
	key, _, _ := strings.Cut(env[0], "=")
	c.env = []string{key + "=my-qemu"}
	if env := c.accelEnv(); env != nil {
		t.Errorf("with a qemu command that the user has set: %q", env)
	}
}

func TestOldQEMU(t *testing.T) {
	for output, want := range map[string]string{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright": "7.2",
		"QEMU emulator version 8.0.4 (Debian 1:8.0.4+dfsg-1ubuntu3.23.10.5)":        "8.0",
		"QEMU emulator version 8.1.0":                                               "",
		"QEMU emulator version 10.0.2":                                              "",
		"QEMU emulator version unknown":                                             "",
		"":                                                                          "",
	} {
		if got := OldQEMU(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

// foreignProcess starts a process that belongs to no instance, and returns its pid.
func foreignProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

func writePID(t *testing.T, path string, pid int) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
