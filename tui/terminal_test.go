package tui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-box/internal/ttytest"
	"hermes-box/ops"
)

const fakeVariable = "HERMES_BOX_TUI_TEST_BOX"

// TestMain runs the tests or, if the variable is set, a dashboard of the misbehaving box that the variable names.
func TestMain(m *testing.M) {
	name := os.Getenv(fakeVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := Run(context.Background(), misbehaving(name), Options{In: os.Stdin, Out: os.Stdout, Errors: os.Stderr}); err != nil {
		fmt.Fprintln(os.Stderr, "hermes-box:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// misbehaving returns a box that floods, stays silent, hangs or panics.
func misbehaving(name string) Box {
	f := withStatus(runningStatus())
	switch name {
	case "flood", "silence": // a thousand events a second, or none
		f = noBox()
		f.run = func(ctx context.Context, sink ops.Sink) error {
			sink(ops.Event{Time: time.Now(), Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "boot", Title: "boot the VM"}, {ID: "fetch", Title: "fetch the software"}}})
			sink(ops.Event{Time: time.Now(), Kind: ops.Started, Step: "boot", Title: "boot the VM"})
			if name == "silence" {
				<-ctx.Done()
			}
			for i := 0; ctx.Err() == nil; i++ {
				sink(ops.Event{Time: time.Now(), Kind: ops.Log, Step: "boot", Line: fmt.Sprint("line ", i)})
				sink(ops.Event{Time: time.Now(), Kind: ops.Bytes, Step: "fetch", Done: int64(i), Total: 1 << 40})
				time.Sleep(2 * time.Millisecond)
			}
			return ctx.Err()
		}
	case "hang": // it never answers and ignores its context
		f.status = func(context.Context) (*ops.Status, error) { select {} }
	case "panic":
		f.status = func(context.Context) (*ops.Status, error) { panic("out of luck") }
	}
	return f
}

// dashboardOn runs the test binary as a dashboard of that box, on a terminal.
func dashboardOn(t testing.TB, name string) *ttytest.Terminal {
	t.Helper()
	return ttytest.Start(t, exec.Command(os.Args[0]), 80, 24, fakeVariable+"="+name, "GORACE=atexit_sleep_ms=0")
}

// A flood of events does not delay keys. The delay is compared with that during an operation that sends nothing, at
// the same time on the same machine.
func TestKeyToFrameInAFlood(t *testing.T) {
	boxes := []string{"flood", "silence"}
	on, took := map[string]*ttytest.Terminal{}, map[string][]time.Duration{} // by box
	for _, box := range boxes {
		on[box] = dashboardOn(t, box)
		on[box].Shows("create the box")
		on[box].Type("\r", "▸ boot the VM")
	}
	for i := range 100 {
		for _, box := range boxes {
			d, begun := on[box], time.Now()
			d.Type("l")
			if i%2 == 0 {
				d.Hides("▸ boot the VM")
			} else {
				d.Shows("▸ boot the VM")
			}
			took[box] = append(took[box], time.Since(begun))
		}
	}
	within := func(box string, n int) time.Duration { return slices.Sorted(slices.Values(took[box]))[n-1] }
	for _, box := range boxes {
		t.Logf("key to frame in %s: half within %v, 90 of 100 within %v, 99 within %v", box, within(box, 50), within(box, 90), within(box, 99))
	}
	if got := within("flood", 90); got > max(250*time.Millisecond, 4*within("silence", 90)) { // make bench measures it on a quiet machine
		t.Errorf("90 of 100 keys within %v", got)
	}
	for _, box := range boxes {
		on[box].Type("qy")
		if status := on[box].Ends(5 * time.Second); status != 1 { // the operation was canceled
			t.Errorf("status %d: %s", status, on[box].Text())
		}
		on[box].Restored()
	}
}

// A box that hangs and ignores its context does not delay quitting.
func TestLeavingAHangingBox(t *testing.T) {
	d := dashboardOn(t, "hang")
	d.Shows("▸ node")
	begun := time.Now()
	d.Type("q")
	d.Ends(5 * time.Second)
	t.Logf("q took %v", time.Since(begun))
	if took := time.Since(begun); took > time.Second {
		t.Errorf("q took %v", took)
	}
	d.Restored()
}

// After a panic the terminal is restored, the panic is printed, and the exit status is not 0.
func TestPanicRestoresTheTerminal(t *testing.T) {
	d := dashboardOn(t, "panic")
	if status := d.Ends(5 * time.Second); status == 0 {
		t.Error("a panic ends with status 0")
	}
	d.Restored()
	if !strings.Contains(d.Output(), "out of luck") {
		t.Errorf("%q", d.Output())
	}
}
