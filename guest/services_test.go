package guest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

const (
	hermesUnit   = "hermes.service"
	executorUnit = "executor.service"
	recoveryUnit = "hermes-box-recovery.service"
)

// started reports whether a service was started.
func (b *box) started() bool {
	did := b.sys.Did()
	return slices.Contains(did, "start "+hermesUnit) || slices.Contains(did, "start "+executorUnit)
}

// A service that does not start does not affect the other one.
func TestStart(t *testing.T) {
	for broken, other := range map[string]string{"executor": "hermes", "hermes": "executor"} {
		b := newFirst(t)
		must(t, b.sys.Reboot())
		n := len(b.sys.Did())
		b.sys.Oneshot = map[string]func(context.Context) error{
			broken + ".service": func(context.Context) error { return errors.New("no such image") }}
		s, err := b.Start(t.Context())
		must(t, err)
		if did := b.sys.Did()[n:]; did[0] != "start "+recoveryUnit {
			t.Errorf("the first effect of Start is %q", did[0])
		}
		ended := map[string]protocol.Event{}
		for _, e := range b.events {
			ended[e.Component] = e
		}
		if e := ended[broken]; e.State != protocol.Failed || !strings.Contains(e.Line, "no such image") {
			t.Errorf("%s ended as %+v", broken, e)
		}
		if e := ended[other]; e.State != protocol.Done {
			t.Errorf("%s is broken: %s ended as %+v", broken, other, e)
		}
		for _, c := range s.Components {
			if c.Name == broken && (c.State != protocol.FailedState || c.Service != "failed") {
				t.Errorf("status of the broken %+v", c)
			}
			if c.Name == other && (c.State == protocol.FailedState || c.Service != "active") {
				t.Errorf("status of the other %+v", c)
			}
		}
	}
}

// Without the file that the condition of its unit names, systemd does not start a service, and Start does not wait for
// the service.
func TestStartWithoutRelease(t *testing.T) {
	b := newFirst(t)
	must(t, b.sys.Reboot())
	must(t, os.Remove(b.Path("/opt/hermes-box/current/executor/executor.env")))
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s, err := b.Start(t.Context())
		must(t, err)
		if waited := time.Since(begun); waited > time.Minute {
			t.Errorf("waited %v", waited)
		}
		if c := s.Components[5]; c.Name != "executor" || c.State != protocol.Stopped {
			t.Errorf("%+v", c)
		}
		for _, e := range b.events {
			if e.Component == "executor" && e.State != protocol.Started && (e.State != protocol.Failed || !strings.Contains(e.Line, "does not run")) {
				t.Errorf("%+v", e)
			}
		}
	})
}

// Start of a new box succeeds and starts no service of a component.
func TestStartNothingApplied(t *testing.T) {
	b := newRoot(t, blankDisk)
	made, err := b.Bootstrap(t.Context(), askFormat())
	must(t, err)
	soon, cancel := context.WithTimeout(t.Context(), time.Minute) // less than the wait for a service
	defer cancel()
	s, err := b.Start(soon)
	if err != nil || len(s.Components) != 6 || s.DataUUID != made.DataUUID || s.DataProblem != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	if b.started() {
		t.Errorf("services were started: %v", b.sys.Did())
	}
}

func TestStartRefuses(t *testing.T) {
	const other = "99999999-2222-4333-8444-555555555555"
	for name, c := range map[string]struct {
		spoil func(*box)
		code  string
		want  string
	}{
		"another disk": {func(b *box) { must(b.t, b.sys.SetMount("/data", other)) },
			"integrity_failed", "filesystem " + other + " is mounted at /data instead of"},
		"no disk":      {func(b *box) { must(b.t, b.sys.SetMount("/data", "")) }, "integrity_failed", "nothing is mounted at /data"},
		"no home":      {func(b *box) { must(b.t, b.sys.SetMount("/home/agent", "")) }, "integrity_failed", "nothing is mounted at /home/agent"},
		"no workspace": {func(b *box) { must(b.t, b.sys.SetMount("/workspace", "")) }, "integrity_failed", "nothing is mounted at /workspace"},
		"another workspace": {func(b *box) {
			must(b.t, errors.Join(os.Mkdir(b.Path("/data/other"), 0o755), os.Remove(b.Path("/workspace")), os.Symlink("data/other", b.Path("/workspace"))))
		}, "integrity_failed", "the directory mounted at /workspace is not /data/home/agent/workspace"},
		"a workspace of another disk": {func(b *box) { must(b.t, b.sys.SetMount("/workspace", other)) },
			"integrity_failed", "the directory mounted at /workspace is not /data/home/agent/workspace"},
		"the recovery unit fails": {func(b *box) { b.failAt("start " + recoveryUnit) }, "external_failed", "the recovery unit failed"},
		"no box":                  {func(b *box) { must(b.t, os.Remove(b.Path("/var/lib/hermes-box/data.uuid"))) }, "preflight_failed", "is not a box yet"},
	} {
		b := newFirst(t)
		must(t, b.sys.Reboot())
		c.spoil(b)
		_, err := b.Start(t.Context())
		if err == nil || codeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%s)", name, err, codeOf(err))
		}
		if b.started() {
			t.Errorf("%s: services were started: %v", name, b.sys.Did())
		}
	}
}

func TestQuiesce(t *testing.T) {
	b := newFirst(t) // both services run
	must(t, b.sys.Break(executorUnit, machine.Unit{Active: "activating", Sub: "auto-restart"}))
	out, err := b.Quiesce(t.Context())
	if err != nil || !slices.Equal(out.Stopped, []string{hermesUnit, executorUnit}) {
		t.Errorf("%+v, %v", out, err)
	}
	b.service(t, "hermes", false)
	b.service(t, "executor", false)
	if did := b.sys.Did(); did[len(did)-1] != "sync" {
		t.Errorf("did %v; want sync last", did)
	}
	if out, err = b.Quiesce(t.Context()); err != nil || len(out.Stopped) != 0 {
		t.Errorf("again: %+v, %v", out, err)
	}

	for _, what := range []string{"read units", "stop " + hermesUnit} {
		b := newFirst(t)
		b.failAt(what)
		if _, err := b.Quiesce(t.Context()); err == nil || !slices.Contains(b.sys.Did(), "sync") {
			t.Errorf("%s failed: %v, did %v", what, err, b.sys.Did())
		}
	}
}

func TestLogs(t *testing.T) {
	b := newBox(t)
	for range 30 {
		must(t, errors.Join(b.sys.StartUnit(t.Context(), hermesUnit), b.sys.StartUnit(t.Context(), executorUnit)))
	}
	var out bytes.Buffer
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must(t, b.Logs(soon, protocol.LogRequest{Source: "hermes", Lines: 20}, &out))
	if text := out.String(); strings.Count(text, "\n") != 20 || strings.Count(text, " hermes: ")+strings.Count(text, " hermes-dashboard: ") != 20 {
		t.Errorf("the last 20 lines of hermes are\n%s", text)
	}
	for _, ask := range []protocol.LogRequest{{Source: "sshd", Lines: 1}, {Source: "", Lines: 1}, {Source: "hermes", Lines: -1}, {Source: "hermes", Lines: 1 << 30}} {
		if err := b.Logs(t.Context(), ask, &out); codeOf(err) != "invalid_input" {
			t.Errorf("%+v: %v", ask, err)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		var out bytes.Buffer
		go func() { done <- b.Logs(ctx, protocol.LogRequest{Source: "executor", Follow: true}, &out) }()
		synctest.Wait() // until Logs waits for new lines
		if out.Len() != 0 {
			t.Errorf("with 0 earlier lines it shows\n%s", out.String())
		}
		must(t, b.sys.StartUnit(ctx, executorUnit))
		time.Sleep(time.Second)
		synctest.Wait()
		if !strings.Contains(out.String(), " executor: ") {
			t.Errorf("the lines while it followed: %q", out.String())
		}
		select {
		case err := <-done:
			t.Fatalf("following ended by itself: %v", err)
		default:
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("following ended with %v", err)
		}
	})
}
