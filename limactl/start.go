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

// DegradedError is an instance that has started with something that does not work.
type DegradedError struct {
	Instance string
	Errors   []string
}

func (e *DegradedError) Error() string {
	return fmt.Sprintf("instance %s started with errors: %s", e.Instance, reasons(e.Errors, ""))
}

// StartError is an instance that did not start.
type StartError struct {
	Instance string
	Serial   string // the last lines of the guest's console
	Err      error
}

func (e *StartError) Error() string {
	message := fmt.Sprintf("instance %s did not start: %v", e.Instance, e.Err)
	if e.Serial != "" {
		message += "\nlast lines of its console:\n" + e.Serial
	}
	return message
}

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Recovery is the hint.
func (e *StartError) Recovery() string {
	return "see what its console says: hermes-box logs, or hermes-box doctor"
}

// Details are facts for the JSON form of the error.
func (e *StartError) Details() map[string]any { return map[string]any{"console": e.Serial} }

// Start boots an instance and waits, at most timeout, until Lima says it is up. What happens meanwhile goes to on,
// which may be nil, one call at a time. Nothing to do if it is up; if another start is under way, it waits for that.
//
// That Lima says it is up does not mean that provisioning or a mount worked: look inside.
//
// When ctx ends the waiting ends, not the boot: Lima's host agent is in a session of its own and goes on. Stop it.
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
		if in.PID != 0 || look(in.Dir, in.VMType).driver.ours {
			return &Error{Message: fmt.Sprintf("instance %s is degraded: %s", name, in.Cause), Do: "hermes-box stop, then: hermes-box start"}
		}
		return &Error{Message: fmt.Sprintf("instance %s cannot be started: %s", name, in.Cause)}
	}

	begin := time.Now()
	var (
		mu   sync.Mutex
		last BootEvent
	)
	tell := func(e BootEvent) {
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
	done.Go(func() { follow(watching, events, begin, tell) })
	if in.State == Starting {
		err = c.awaitBoot(ctx, name, timeout)
	} else {
		// A little longer than limactl's own limit, which ends with a better message.
		_, err = c.runWith(ctx, timeout+10*time.Second, nil, c.accelEnv(), func(line string) {
			if e := said(line); !strings.HasPrefix(e.Line, "READY. Run ") { // limactl's own shell is not the way into a box
				tell(e)
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

// awaitBoot waits for a start that somebody else has begun.
func (c *Client) awaitBoot(ctx context.Context, name string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no end after %v: %w", timeout, ErrTimeout))
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

// awaitAgent waits until the host agent of a start that was cut off can be found: limactl makes its log, then the agent
// itself, and that notes its pid. Whoever ends it in between would find nothing to end, and it would come up after all.
func awaitAgent(dir string, begin time.Time) {
	st, err := os.Stat(filepath.Join(dir, "ha.stderr.log"))
	if err != nil || st.ModTime().Before(begin.Add(-time.Second)) { // file systems have coarse clocks
		return
	}
	for deadline := time.Now().Add(child.Grace); time.Now().Before(deadline) && !exists(filepath.Join(dir, "ha.pid")); {
		time.Sleep(20 * time.Millisecond)
	}
}

// startCause finds the reason: what limactl itself says of a VM that died is the dump of an event.
func startCause(dir string, err error) error {
	var failed *CommandError
	if !errors.As(err, &failed) || errors.Is(err, ErrTimeout) {
		return err
	}
	if said := driverSaid(filepath.Join(dir, "ha.stderr.log")); said != "" {
		return &causeError{message: said, err: err}
	}
	return &causeError{message: failed.Message, err: err}
}

// driverSaid is the last complaint of qemu or of the host agent in its log.
func driverSaid(log string) string {
	said := ""
	for line := range bytes.Lines(readTail(log, 256<<10)) {
		var entry struct{ Level, Msg string }
		if json.Unmarshal(line, &entry) != nil {
			continue
		}
		qemu, ok := strings.CutPrefix(entry.Msg, "qemu[stderr]: ")
		switch {
		case ok && !strings.HasPrefix(qemu, " ") && !strings.HasPrefix(strings.ToLower(qemu), "warning"):
			said = qemu
		case entry.Level == "error" || entry.Level == "fatal":
			said = entry.Msg
		}
	}
	return sanitize.Text(said)
}

type causeError struct {
	message string
	err     error
}

func (e *causeError) Error() string { return e.message }
func (e *causeError) Unwrap() error { return e.err }

// console is the end of what the guest printed while it booted.
func console(dir string) string {
	for _, name := range []string{"serial.log", "serialp.log", "serialv.log"} {
		text := sanitize.Text(string(readTail(filepath.Join(dir, name), 8<<10)))
		if text = strings.TrimSpace(text); text != "" {
			return sanitize.LastLines(text, 10)
		}
	}
	return ""
}
