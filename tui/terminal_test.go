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

	"hermes-box/ops"
	"hermes-box/tui/ttytest"
)

const fakeVariable = "HERMES_BOX_TUI_TEST_BOX"

// The test binary is also a dashboard on a box that misbehaves in the way the variable names.
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

func misbehaving(name string) Box {
	f := withStatus(running())
	switch name {
	case "flood": // a thousand events a second, for ever
		f = noBox()
		f.run = func(ctx context.Context, sink ops.Sink) error {
			sink(ops.Event{Time: time.Now(), Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "boot", Title: "boot the VM"}, {ID: "fetch", Title: "fetch the software"}}})
			sink(ops.Event{Time: time.Now(), Kind: ops.Started, Step: "boot", Title: "boot the VM"})
			for i := 0; ctx.Err() == nil; i++ {
				sink(ops.Event{Time: time.Now(), Kind: ops.Log, Step: "boot", Line: fmt.Sprint("line ", i)})
				sink(ops.Event{Time: time.Now(), Kind: ops.Bytes, Step: "fetch", Done: int64(i), Total: 1 << 40})
				time.Sleep(2 * time.Millisecond)
			}
			return ctx.Err()
		}
	case "hang": // it never answers, and does not mind its context
		f.status = func(context.Context) (*ops.Status, error) { select {} }
	case "panic":
		f.status = func(context.Context) (*ops.Status, error) { panic("out of luck") }
	}
	return f
}

func dashboardOn(t testing.TB, name string) *ttytest.Terminal {
	t.Helper()
	return ttytest.Start(t, exec.Command(os.Args[0]), 80, 24, fakeVariable+"="+name, "GORACE=atexit_sleep_ms=0")
}

// A key is never behind a flood of events.
func TestKeyToFrameInAFlood(t *testing.T) {
	d := dashboardOn(t, "flood")
	d.Shows("makes the box")
	d.Type("\r")
	d.Shows("▸ boot the VM")
	var took []time.Duration
	for i := range 100 {
		begun := time.Now()
		d.Type("l")
		if i%2 == 0 {
			d.Hides("▸ boot the VM")
		} else {
			d.Shows("▸ boot the VM")
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	t.Logf("key to frame: half within %v, 99 of 100 within %v", took[50], took[98])
	if took[98] > 250*time.Millisecond { // 33 ms on a quiet machine
		t.Errorf("99 of 100 keys within %v", took[98])
	}
	d.Type("qy")
	if status := d.Ends(5 * time.Second); status != 1 { // that of the operation, which is canceled
		t.Errorf("status %d: %s", status, d.Text())
	}
	d.Restored()
}

// A box that does not even mind its context keeps nobody from leaving.
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

func TestPanicRestoresTheTerminal(t *testing.T) {
	d := dashboardOn(t, "panic")
	if status := d.Ends(5 * time.Second); status == 0 {
		t.Error("a panic is a success")
	}
	d.Restored()
	if !strings.Contains(d.Output(), "out of luck") {
		t.Errorf("%q", d.Output())
	}
}
