package guest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"hermes-box/guest/protocol"
)

// box is a bootstrapped pretend machine with the components named applied, as far as status looks.
func box(t *testing.T, names ...string) (*Guest, *pretend) {
	t.Helper()
	g, p := newPretend(t)
	if _, err := g.Bootstrap(t.Context(), askFormat()); err != nil {
		t.Fatal(err)
	}
	state := map[string]protocol.AppliedComponent{}
	for _, n := range names {
		state[n] = protocol.AppliedComponent{Name: n, Version: "1.0"}
	}
	if err := g.putJSON(g.Path(appliedFile), state); err != nil {
		t.Fatal(err)
	}
	p.calls = nil
	return g, p
}

func TestStart(t *testing.T) {
	g, p := box(t, "hermes", "executor", "node")
	p.fail["start "+executorUnit] = &ExitError{Cmd: "systemctl start", Status: 1, Output: "no such image"}
	p.fail["start "+hermesUnit] = errors.New("dependency failed")
	var mu sync.Mutex
	ended := map[string]protocol.Event{}
	g.Emit = func(e protocol.Event) {
		mu.Lock()
		defer mu.Unlock()
		ended[e.Component] = e
	}
	s, err := g.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.calls[0] != "start "+recoveryUnit {
		t.Errorf("the first call was %q", p.calls[0])
	}
	if e := ended["executor"]; e.State != protocol.Failed || !strings.Contains(e.Line, "no such image") {
		t.Errorf("executor ended as %+v", e)
	}
	// The failure of one kept the other from nothing.
	if !p.called("start "+hermesUnit) || !p.called("start "+executorUnit) {
		t.Errorf("calls %v", p.calls)
	}
	for _, c := range s.Components {
		if c.Name == "executor" && (c.State != protocol.FailedState || c.Service != "failed") {
			t.Errorf("status of executor: %+v", c)
		}
	}
}

func TestStartNothingApplied(t *testing.T) {
	g, p := box(t)
	s, err := g.Start(t.Context())
	if err != nil || len(s.Components) != 6 {
		t.Fatalf("%+v, %v", s, err)
	}
	if p.called("start "+hermesUnit) || p.called("start "+executorUnit) {
		t.Errorf("calls %v", p.calls)
	}
}

func TestStartRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Guest, *pretend)
		code  string
		want  string
	}{
		"another disk": {func(g *Guest, p *pretend) { p.mounts[g.Path("/data")] = "99999999-2222-4333-8444-555555555555" },
			"integrity_failed", "filesystem 99999999-2222-4333-8444-555555555555 is mounted at /data instead of"},
		"no disk": {func(g *Guest, p *pretend) { delete(p.mounts, g.Path("/data")) }, "integrity_failed", "nothing is mounted at /data"},
		"recovery": {func(_ *Guest, p *pretend) { p.fail["start "+recoveryUnit] = errors.New("exit status 1") },
			"external_failed", "recovery before the services"},
		"no box": {func(g *Guest, _ *pretend) { _ = g.remove(g.Path(uuidFile)) }, "preflight_failed", "not been made into a box"},
	} {
		g, p := box(t, "hermes", "executor")
		c.spoil(g, p)
		_, err := g.Start(t.Context())
		if err == nil || codeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%s)", name, err, codeOf(err))
		}
		if p.called("start "+hermesUnit) || p.called("start "+executorUnit) {
			t.Errorf("%s: services were started: %v", name, p.calls)
		}
	}
}

func TestQuiesce(t *testing.T) {
	g, p := box(t, "hermes", "executor")
	p.set(hermesUnit, Unit{Active: "active"})
	p.set(executorUnit, Unit{Active: "activating", Sub: "auto-restart"})
	out, err := g.Quiesce(t.Context())
	if err != nil || !slices.Equal(out.Stopped, []string{hermesUnit, executorUnit}) {
		t.Errorf("%+v, %v", out, err)
	}
	if p.calls[len(p.calls)-1] != "sync" {
		t.Errorf("calls %v; want sync last", p.calls)
	}
	if out, err = g.Quiesce(t.Context()); err != nil || len(out.Stopped) != 0 {
		t.Errorf("again: %+v, %v", out, err)
	}

	for _, fail := range []string{"units", "stop " + hermesUnit} {
		g, p := box(t, "hermes", "executor")
		p.set(hermesUnit, Unit{Active: "active"})
		p.set(executorUnit, Unit{Active: "active"})
		p.fail[fail] = errors.New("systemd is gone")
		if _, err := g.Quiesce(t.Context()); err == nil || !p.called("sync") {
			t.Errorf("%s failed: %v, calls %v", fail, err, p.calls)
		}
	}
}

// follower prints a line and then waits for the end of its context.
type follower struct {
	*pretend
	cmd Cmd
}

func (f *follower) Run(ctx context.Context, c Cmd) ([]byte, error) {
	f.cmd = c
	if _, err := io.WriteString(c.Stdout, "a line\n"); err != nil {
		return nil, err
	}
	if slices.Contains(c.Args, "--follow") {
		<-ctx.Done()
		return nil, &ExitError{Cmd: c.Path, Status: -1, Err: ctx.Err()}
	}
	return nil, nil
}

func TestLogs(t *testing.T) {
	g, p := newPretend(t)
	f := &follower{pretend: p}
	g.System = f
	var out strings.Builder
	if err := g.Logs(t.Context(), protocol.LogRequest{Source: "hermes", Lines: 20}, &out); err != nil || out.String() != "a line\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	args := strings.Join(f.cmd.Args, " ")
	if !strings.Contains(args, "--lines 20") || !strings.Contains(args, "--unit hermes.service") || strings.Contains(args, "--follow") {
		t.Errorf("journalctl %s", args)
	}
	for _, ask := range []protocol.LogRequest{{Source: "sshd", Lines: 1}, {Source: "", Lines: 1}, {Source: "hermes", Lines: -1}, {Source: "hermes", Lines: 1 << 30}} {
		if err := g.Logs(t.Context(), ask, &out); codeOf(err) != "invalid_input" {
			t.Errorf("%+v: %v", ask, err)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Logs(ctx, protocol.LogRequest{Source: "executor", Follow: true}, io.Discard) }()
		synctest.Wait() // it follows, and is not done
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
