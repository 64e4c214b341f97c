package limactl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hermes-box/internal/sanitize"
	"hermes-box/limactl/child"
)

// DegradedError is the error for an instance that has started although Lima reported errors during its boot.
type DegradedError struct {
	Instance string
	Errors   []string
}

func (e *DegradedError) Error() string {
	return fmt.Sprintf("instance %s started with errors: %s", e.Instance, reasons(e.Errors, ""))
}

// StartError is the error for an instance that did not start.
type StartError struct {
	Instance string
	Serial   string // the last lines of the console
	Err      error
}

func (e *StartError) Error() string {
	message := fmt.Sprintf("instance %s did not start: %v", e.Instance, e.Err)
	if e.Serial != "" {
		message += "\nlast lines of its console:\n" + e.Serial
	}
	return message
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Recovery returns the hint.
func (e *StartError) Recovery() string {
	return "hermes-box logs boot"
}

// Details returns facts for the JSON form of the error.
func (e *StartError) Details() map[string]any { return map[string]any{"console": e.Serial} }

// Start boots an instance and waits, at most timeout, until Lima says that it is up. It calls on, which may be nil,
// for each event, one at a time. It does nothing if the instance is up; if another start is under way, it waits for
// that one.
//
// A nil error does not mean that provisioning and mounts have worked: the caller must check that in the guest.
//
// When ctx ends, Start returns but the boot continues, because Lima's host agent runs in its own process group. Stop
// ends the boot.
func (c *Client) Start(ctx context.Context, name string, timeout time.Duration, on func(BootEvent)) error {
	if err := c.CleanStale(ctx, name); err != nil {
		return err
	}
	in, err := c.Instance(ctx, name)
	if err != nil {
		return err
	}
	switch in.State {
	case Running:
		return nil
	case Degraded:
		if in.PID != 0 || readFacts(in.Dir, in.VMType).driver.ours {
			return &Error{Message: fmt.Sprintf("instance %s is degraded: %s", name, in.Cause), Do: "hermes-box stop; hermes-box start"}
		}
		return &Error{Message: fmt.Sprintf("instance %s cannot be started: %s", name, in.Cause)}
	}

	begin := time.Now()
	var (
		mu   sync.Mutex
		last BootEvent
	)
	send := func(e BootEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Line == "" {
			last = e
		}
		if on != nil {
			on(e)
		}
	}
	events := filepath.Join(in.Dir, "ha.stdout.log")
	if in.State == Starting {
		begin = time.Time{}
	}
	watching, stopWatching := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { follow(watching, events, begin, send) })
	if in.State == Starting {
		err = c.awaitBoot(ctx, name, timeout)
	} else {
		// This timeout is longer than limactl's own, because the message of limactl is better.
		_, err = c.runWith(ctx, timeout+10*time.Second, nil, c.accelEnv(), func(line string) {
			if e := logEvent(line); !strings.HasPrefix(e.Line, "READY. Run ") { // a hint to use limactl shell
				send(e)
			}
		}, "start", "--tty=false", "--timeout", timeout.String(), name)
	}
	stopWatching()
	done.Wait()

	mu.Lock()
	defer mu.Unlock()
	switch {
	case err == nil && !last.Degraded:
		return nil
	case ctx.Err() != nil:
		awaitAgent(in.Dir, begin)
		return context.Cause(ctx)
	case last.Degraded:
		return &DegradedError{Instance: name, Errors: last.Errors}
	}
	return &StartError{Instance: name, Serial: console(in.Dir), Err: startCause(in.Dir, err)}
}

// awaitBoot waits for the end of a start that another process has begun.
func (c *Client) awaitBoot(ctx context.Context, name string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it is still starting after %v: %w", timeout, ErrTimeout))
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		switch state := c.Peek(name); state {
		case Starting:
		case Running, Degraded:
			return nil
		default:
			return fmt.Errorf("it is %s", state)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// awaitAgent waits until the host agent of a canceled start has written its pid file. limactl creates the log, then
// starts the agent, which writes its pid. A stop in between would find no process, and the VM would still boot.
func awaitAgent(dir string, begin time.Time) {
	st, err := os.Stat(filepath.Join(dir, "ha.stderr.log"))
	if err != nil || st.ModTime().Before(begin.Add(-time.Second)) { // file systems have coarse clocks
		return
	}
	for deadline := time.Now().Add(child.Grace); time.Now().Before(deadline) && !exists(filepath.Join(dir, "ha.pid")); {
		time.Sleep(20 * time.Millisecond)
	}
}

// startCause returns why a start failed. If the VM has died, limactl only prints an event, and the reason is in the
// log.
func startCause(dir string, err error) error {
	var failed *CommandError
	if !errors.As(err, &failed) || errors.Is(err, ErrTimeout) {
		return err
	}
	if problem := lastProblem(filepath.Join(dir, "ha.stderr.log")); problem != "" {
		return &causeError{message: problem, err: err}
	}
	return &causeError{message: failed.Message, err: err}
}

// lastProblem returns the last error of qemu or of the host agent in its log.
func lastProblem(log string) string {
	last := ""
	for line := range bytes.Lines(readTail(log, 256<<10)) {
		var entry struct{ Level, Msg string }
		if json.Unmarshal(line, &entry) != nil {
			continue
		}
		qemu, ok := strings.CutPrefix(entry.Msg, "qemu[stderr]: ")
		switch {
		case ok && !strings.HasPrefix(qemu, " ") && !strings.HasPrefix(strings.ToLower(qemu), "warning"):
			last = qemu
		case entry.Level == "error" || entry.Level == "fatal":
			last = entry.Msg
		}
	}
	return sanitize.Text(last)
}

type causeError struct {
	message string
	err     error
}

func (e *causeError) Error() string { return e.message }
func (e *causeError) Unwrap() error { return e.err }

// console returns the last lines that the guest printed on its console.
func console(dir string) string {
	for _, name := range []string{"serial.log", "serialp.log", "serialv.log"} {
		text := sanitize.Text(string(readTail(filepath.Join(dir, name), 8<<10)))
		if text = strings.TrimSpace(text); text != "" {
			return sanitize.LastLines(text, 10)
		}
	}
	return ""
}
