package limactl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
)

func TestStop(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	running(t, c, "main-2")
	if err := c.Stop(t.Context(), "main", false, time.Minute); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, "main", Stopped)
	wantState(t, c, "main-2", Running)
	if err := c.Stop(t.Context(), "main", false, time.Minute); err != nil {
		t.Fatalf("stopping it again: %v", err)
	}
	if err := c.Stop(t.Context(), "none", false, time.Minute); !errors.Is(err, ErrNotFound) {
		t.Fatalf("stopping an unknown instance: %v", err)
	}
}

// Stop first asks an instance to shut down and waits; it kills the instance only with force (lima #124, #2493).
func TestStopHangs(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	inject(t, c, rehearsal.HoldStop)
	err := c.Stop(t.Context(), "main", false, 200*time.Millisecond)
	if !errors.Is(err, ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	wantState(t, c, "main", Running)
	if err := c.Stop(t.Context(), "main", true, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, "main", Stopped)
	if d, err := c.Disk(t.Context(), "main-data"); err != nil || d.InUseBy != "" {
		t.Errorf("got %+v, %v", d, err)
	}
}

// Stop returns when the instance is off, even if its pid now belongs to another process. limactl waits for the end of
// that process.
func TestStopWhenThePIDIsReused(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	inject(t, c, rehearsal.PIDReused)
	begun := time.Now()
	if err := c.Stop(t.Context(), "main", false, time.Minute); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("Stop took %v", took)
	}
	wantState(t, c, "main", Stopped)
}

func TestStopCancelled(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	inject(t, c, rehearsal.HoldStop)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	// A canceled stop does not kill the instance, even with force.
	if err := c.Stop(ctx, "main", true, time.Minute); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	wantState(t, c, "main", Running)
}

func TestStopWhileBooting(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	inject(t, c, rehearsal.HoldBoot)
	events, done := boot(t.Context(), c, "main")
	await(t, events, done, func(e BootEvent) bool { return e.SSHPort != 0 })
	if err := c.Stop(t.Context(), "main", false, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the start of the stopped instance returned no error")
	}
	wantState(t, c, "main", Stopped)
}

// An instance whose host agent has died while its driver runs is degraded, and only a forced Stop stops it (lima
// #357).
func TestStopWithoutHostAgent(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	agent := readPID(c.Dir("main"), "ha.pid")
	if err := syscall.Kill(agent.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for readPID(c.Dir("main"), "ha.pid").ours {
		time.Sleep(time.Millisecond)
	}
	if in := wantState(t, c, "main", Degraded); !strings.Contains(in.Cause, "host agent") {
		t.Errorf("cause %q", in.Cause)
	}
	if err := c.Start(t.Context(), "main", time.Minute, nil); err == nil {
		t.Error("an instance that runs was started again")
	}
	if err := c.Delete(t.Context(), "main"); !errors.Is(err, ErrInUse) {
		t.Errorf("delete: %v", err)
	}
	if err := c.Stop(t.Context(), "main", false, time.Minute); err == nil {
		t.Error("stopped gracefully without a host agent")
	}
	if err := c.Stop(t.Context(), "main", true, time.Minute); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, "main", Stopped)
}

// After a reboot of the host the pids in an instance's files belong to other processes.
func TestReusedPID(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(*Client) error
	}{
		{"stop --force", func(c *Client) error { return c.Stop(t.Context(), "main", true, time.Second) }},
		{"delete", func(c *Client) error { return c.Delete(t.Context(), "main") }},
		{"start", func(c *Client) error { return c.Start(t.Context(), "main", time.Minute, nil) }},
		{"kill", func(c *Client) error { return c.Kill(t.Context(), "main") }},
		{"unlock", func(c *Client) error { return c.UnlockDisk(t.Context(), "main-data") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stage(t)
			running(t, c, "main")
			if err := c.Kill(t.Context(), "main"); err != nil {
				t.Fatal(err)
			}
			pid := foreignProcess(t)
			writePID(t, filepath.Join(c.Dir("main"), "ha.pid"), pid)
			writePID(t, filepath.Join(c.Dir("main"), "qemu.pid"), pid)
			if in := wantState(t, c, "main", Stopped); in.Raw == "Stopped" || !strings.Contains(in.Cause, "sleep") {
				t.Errorf("Lima says %q, cause %q", in.Raw, in.Cause)
			}
			if err := tt.act(c); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, 0); err != nil || runningCommand(pid) == "" {
				t.Fatal("a foreign process was killed")
			}
		})
	}
}

// Delete does not kill a foreign process, even if a pid file begins to name it during the delete: limactl delete kills
// every process that the instance's pid files name.
func TestPIDReusedDuringDelete(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	pid := foreignProcess(t)
	real := c.config.Program
	c.config.Program = filepath.Join(filepath.Dir(c.Home()), "wrapped")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = disk ] && [ -e '%[2]s' ] && echo %[3]d >'%[2]s/qemu.pid'\nexec '%[1]s' \"$@\"\n", real, c.Dir("main"), pid)
	if err := os.WriteFile(c.config.Program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if runningCommand(pid) == "" {
		t.Fatal("a foreign process was killed")
	}
}

// An instance whose pid files name a zombie is stopped and can be started, although Lima takes a zombie for a running
// process.
func TestZombiesCountAsStopped(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	if err := c.Kill(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	for runningCommand(cmd.Process.Pid) != "" {
		time.Sleep(time.Millisecond)
	}
	writePID(t, filepath.Join(c.Dir("main"), "ha.pid"), cmd.Process.Pid)
	writePID(t, filepath.Join(c.Dir("main"), "qemu.pid"), cmd.Process.Pid)
	if in := wantState(t, c, "main", Stopped); in.Raw == "Stopped" {
		t.Error("the stand-in reports a zombie as stopped, which Lima does not")
	}
	if err := c.Start(t.Context(), "main", time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, "main", Running)
}

func TestCleanStale(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	if err := c.CleanStale(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, "main", Running)
	if err := c.Stop(t.Context(), "main", false, time.Minute); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.Dir("main"), "ha.pid")
	// An empty pid file that is new stays, since a start may be writing it. An old one is removed.
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.CleanStale(t.Context(), "main"); err != nil || !exists(file) {
		t.Errorf("a new empty pid file: exists %v, %v", exists(file), err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if err := c.CleanStale(t.Context(), "main"); err != nil || exists(file) {
		t.Errorf("an old empty pid file: exists %v, %v", exists(file), err)
	}
}

// A process that this user cannot see may still run: nothing counts it as ended.
func TestHiddenProcess(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	for _, file := range []string{"ha.pid", "qemu.pid"} {
		path := filepath.Join(c.Dir("main"), file)
		defer func(aside string) { _ = errors.Join(os.Remove(path), os.Rename(aside, path)) }(path + ".aside")
		if err := errors.Join(os.Rename(path, path+".aside"), os.Mkdir(path, 0o700)); err != nil { // it cannot be read
			t.Fatal(err)
		}
		if in := inspect(listed{Name: "main", Dir: c.Dir("main"), Status: "Broken"}); in.State != Degraded || in.Dead || !in.Hidden {
			t.Errorf("%s cannot be read: %+v", file, in)
		}
	}
	for name, act := range map[string]func() error{
		"stop":         func() error { return c.Stop(t.Context(), "main", false, time.Second) },
		"stop --force": func() error { return c.Stop(t.Context(), "main", true, time.Second) },
		"kill":         func() error { return c.Kill(t.Context(), "main") },
		"delete":       func() error { return c.Delete(t.Context(), "main") },
	} {
		if err := act(); err == nil || !strings.Contains(err.Error(), "cannot see whether instance main runs") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.CleanStale(t.Context(), "main"); err != nil || !exists(filepath.Join(c.Dir("main"), "qemu.pid")) {
		t.Errorf("CleanStale removed a pid file that it could not read: %v", err)
	}
}

func TestSeen(t *testing.T) {
	const dir = "/lima/main"
	for _, tt := range []struct {
		name           string
		command        string
		signal, unseen error
		wrote          bool
		want           process
	}{
		{"ours", "qemu -pidfile /lima/main/qemu.pid", nil, nil, true, process{alive: true, ours: true}},
		{"ours, started by another user", "qemu -pidfile /lima/main/qemu.pid", syscall.EPERM, nil, false, process{alive: true, ours: true}},
		{"pid reused", "sleep 60", nil, nil, true, process{alive: true}},
		{"zombie", "", nil, nil, true, process{}},
		{"command line cannot be read", "", nil, syscall.EACCES, true, process{hidden: true}},
		{"hidden, of another user", "", syscall.EPERM, nil, false, process{hidden: true}},
		{"pid reused by another user, hidden", "", syscall.EPERM, nil, true, process{alive: true}},
	} {
		got := seen(process{command: tt.command}, tt.signal, tt.unseen, tt.wrote, dir)
		if got.alive != tt.want.alive || got.ours != tt.want.ours || got.hidden != tt.want.hidden {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
}

func TestDelete(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	create(t, c, "main-2")
	if err := c.Create(t.Context(), "main", []byte("images: [{location: x}]")); !errors.Is(err, ErrExists) {
		t.Fatalf("creating it again (lima #2575): %v", err)
	}
	if err := c.Start(t.Context(), "main", time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "main"); !errors.Is(err, ErrInUse) {
		t.Fatalf("deleting a running instance: %v", err)
	}
	if err := c.Stop(t.Context(), "main", false, time.Minute); err != nil {
		t.Fatal(err)
	}
	// If LIMA_HOME has a directory that is not an instance, limactl deletes the instance but then fails.
	if err := os.Mkdir(c.Dir("stray"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Instance(t.Context(), "main"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("after delete: %v", err)
	}
	if err := c.Delete(t.Context(), "main"); err != nil {
		t.Fatalf("deleting it again: %v", err)
	}
	if !exists(c.Dir("stray")) {
		t.Error("a directory of another name is gone")
	}
	wantState(t, c, "main-2", Stopped)
}

func TestCreateFails(t *testing.T) {
	c := stage(t)
	inject(t, c, rehearsal.CreateFails)
	yaml, err := machine("main", "data").YAML()
	if err != nil {
		t.Fatal(err)
	}
	err = c.Create(t.Context(), "main", yaml)
	var failed *CommandError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("got %v", err)
	}
	wantState(t, c, "main", Degraded)
	if err := c.Create(t.Context(), "main", yaml); !errors.Is(err, ErrExists) {
		t.Fatalf("creating it over the rest of a failed create: %v", err)
	}
	if err := c.Delete(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	heal(t, c, rehearsal.CreateFails)
	if err := c.Create(t.Context(), "main", yaml); err != nil {
		t.Fatal(err)
	}
}

func runningCommand(pid int) string {
	command, _ := commandLine(pid)
	return command
}
