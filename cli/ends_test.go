package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hermes-box exits silently when the reader of its output has closed it, as other commands do.
func TestClosedPipeIsQuiet(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("home/logs/commands.ndjson", bytes.Repeat([]byte(`{"time":"2026-01-01T00:00:00Z","command":"limactl list"}`+"\n"), 100))
	for _, args := range [][]string{{"man"}, {"status"}, {"logs", "commands"}, {"logs", "commands", "--json"}, {"completion", "bash"}, {"version", "--json"}, {"help"}, {"create", "--help"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := m.cmd("", args...)
		var stderr bytes.Buffer
		c.Stdout, c.Stderr = w, &stderr
		c.Run()
		w.Close()
		if c.ProcessState.ExitCode() != exitPipe || stderr.Len() != 0 {
			t.Errorf("%v: %v, %q", args, c.ProcessState, stderr.String())
		}
	}
}

// An interrupted exec prints one line.
func TestInterruptedExecIsOneLine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	if _, stderr, err := m.run("limactl", "start", "--tty=false", "main"); err != nil {
		t.Fatal(err, stderr)
	}
	begun := filepath.Join(m.dir, "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	// An ssh that writes to a fifo when it starts, and then prints nothing.
	silent := filepath.Join(m.dir, "silent")
	m.write("silent/ssh", []byte("#!/bin/sh\necho begun >"+begun+"\nexec sleep 1000\n"))
	if err := os.Chmod(filepath.Join(silent, "ssh"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.bin = silent + ":" + m.bin
	c := m.cmd("", "exec", "--", "sleep", "1000")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		if _, err := os.ReadFile(begun); err == nil {
			c.Process.Signal(os.Interrupt)
		}
	}()
	c.Wait()
	if c.ProcessState.ExitCode() != exitInterrupted || stdout.Len() != 0 || stderr.String() != "hermes-box: interrupted\n" {
		t.Errorf("%v, %q, %q", c.ProcessState, stdout.String(), stderr.String())
	}
}

// A command fails when its output cannot be written, even if cobra writes that output.
func TestFullDiskIsReported(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err) // only Linux has it
	}
	defer full.Close()
	m := newMachine(t)
	for _, args := range [][]string{{"help"}, {"--help"}, {"create", "--help"}, {"help", "create"}, {"completion"}, {"completion", "bash"}, {"man"}, {"version"}} {
		c := m.cmd("", args...)
		var stderr bytes.Buffer
		c.Stdout, c.Stderr = full, &stderr
		if c.Run(); c.ProcessState.ExitCode() != exitFailed || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%v: %v, %q", args, c.ProcessState, stderr.String())
		}
	}
}
