package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/limactl/child"
	"hermes-box/ops/config"
	"hermes-box/ops/lock"
	"hermes-box/ops/store"
)

func fixture(t *testing.T, edits ...string) *lock.Lock {
	t.Helper()
	data, err := os.ReadFile("../cli/testdata/hermes-box.lock")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(edits...).Replace(string(data))
	l, err := lock.Parse("fixture", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// applied returns the status of a guest that has applied this lock. All its components are healthy.
func applied(l *lock.Lock) *protocol.Status {
	s := &protocol.Status{Lock: string(l.Canonical())}
	for _, name := range lock.Order {
		s.Components = append(s.Components, protocol.ComponentStatus{Name: name, Applied: l.Components[name].Version, State: protocol.Healthy, Service: "active", Since: 9})
	}
	return s
}

func TestCompareMarksDrift(t *testing.T) {
	old := fixture(t)
	next := fixture(t, "pkg:npm/%40openai/codex@1.0.0", "pkg:npm/%40openai/codex@2.0.0",
		"codex:\n    version: 1.0.0", "codex:\n    version: 2.0.0", "version: 2.1.3", "version: 2.1.4")
	b := &Box{Config: &config.Config{}, Lock: next}
	st := &Status{Live: true, Guest: applied(old)}
	b.compare(st)
	for _, c := range st.Components {
		drift := ""
		if c.Name == "codex" {
			drift = "version"
			if c.Desired != "2.0.0" || c.Applied != "1.0.0" {
				t.Errorf("codex: %+v", c)
			}
		}
		if c.State != protocol.Healthy || c.Drift != drift {
			t.Errorf("%s is %s, drift %q", c.Name, c.State, c.Drift)
		}
	}
	if len(st.Platform) != 1 {
		t.Errorf("platform drift: %+v", st.Platform)
	}
	if d := b.drift(st.Guest); len(d.Components) != 1 || len(d.Platform) != 1 {
		t.Errorf("drift: %+v", d)
	}
}

// A component has both a state and a drift. Neither hides the other.
func TestDriftDoesNotHideTheState(t *testing.T) {
	guest := applied(fixture(t))
	guest.Components[3].State, guest.Components[3].Detail = protocol.FailedState, "gone"
	b := &Box{Config: &config.Config{}, Lock: fixture(t, "pkg:npm/%40openai/codex@1.0.0", "pkg:npm/%40openai/codex@2.0.0", "codex:\n    version: 1.0.0", "codex:\n    version: 2.0.0")}
	st := &Status{Live: true, Guest: guest}
	b.compare(st)
	if c := st.Components[3]; c.State != protocol.FailedState || c.Detail != "gone" || c.Drift == "" {
		t.Errorf("codex: %+v", c)
	}
}

// The last known state is never shown as the current one. Components of a stopped box are stopped; others that were
// not asked are unknown.
func TestComponentsThatWereNotAsked(t *testing.T) {
	for state, want := range map[limactl.State]string{limactl.Stopped: protocol.Stopped, limactl.Degraded: NotAsked, limactl.Starting: NotAsked, limactl.Running: NotAsked} {
		b := &Box{Config: &config.Config{}, Lock: fixture(t)}
		st := &Status{State: string(state), Guest: applied(fixture(t))}
		b.compare(st)
		for _, c := range st.Components {
			if c.State != want || c.Last != protocol.Healthy || c.Service != "" || c.Since != 0 {
				t.Errorf("%s: %+v", state, c)
			}
		}
	}
}

// If the guest answers with healthy components, the box is running, whatever Lima says. What Lima reported at boot is
// not shown as a cause.
func TestGuestDecidesTheState(t *testing.T) {
	b := &Box{Config: &config.Config{}, Record: &store.Record{Disk: "main-data"}}
	guest := guestOf(t, nil)
	for name, c := range map[string]struct {
		s     observation
		state limactl.State
		cause string
	}{
		"Lima says running":      {s: observation{vm: limactl.Instance{State: limactl.Running, Notes: []string{"no guest agent"}}, guest: guest}, state: limactl.Running},
		"Lima calls it degraded": {s: observation{vm: limactl.Instance{State: limactl.Degraded, Cause: "its host agent has died"}, guest: guest}, state: limactl.Running, cause: "host agent"},
		"limactl hangs":          {s: observation{vmErr: context.DeadlineExceeded, guest: guest}, state: limactl.Running},
		"no answer":              {s: observation{vm: limactl.Instance{State: limactl.Running}, guestErr: errors.New("refused")}, state: limactl.Degraded, cause: "does not answer"},
		"a component fails":      {s: observation{vm: limactl.Instance{State: limactl.Running}, guest: guestOf(t, map[string]string{"codex": protocol.FailedState})}, state: limactl.Degraded},
		"the VM is off":          {s: observation{vm: limactl.Instance{State: limactl.Stopped}, guestErr: errors.New("refused")}, state: limactl.Stopped},
	} {
		st := &Status{}
		b.settleState(st, c.s)
		if st.State != string(c.state) || !strings.Contains(st.Cause, c.cause) || c.cause == "" && st.Cause != "" {
			t.Errorf("%s: %s, %q", name, st.State, st.Cause)
		}
	}
}

// A box keeps the ports that it was created with. Other ports in the config are drift.
func TestEditedConfigIsDrift(t *testing.T) {
	cfg := &config.Config{Path: "/c/hermes-box.yaml", VM: config.VM{CPUs: 4, Memory: 8 << 30}, Ports: config.Ports{Executor: 4788, Dashboard: 9119}}
	b := &Box{Config: cfg}
	b.Record = &store.Record{Machine: b.desired()}
	if d := b.machineDrift(); len(d) != 0 {
		t.Errorf("drift without a change: %+v", d)
	}
	cfg.Ports.Executor, cfg.VM.Memory = 5000, 16<<30
	d := b.machineDrift()
	if len(d) != 2 || d[0].Name != "memory" || d[0].To != "16GiB" || d[1].From != "4788" {
		t.Errorf("drift: %+v", d)
	}
	if b.Ports().Executor != 4788 {
		t.Errorf("the box has moved to port %d", b.Ports().Executor)
	}
}

// If ssh cannot be started because this machine has too many open files, status names that limit. It does not call the
// box degraded, because the box was not asked.
func TestStatusNamesTheLimitOfThisMachine(t *testing.T) {
	b := &Box{Config: &config.Config{}, Record: &store.Record{}}
	st := &Status{}
	b.settleState(st, observation{vm: limactl.Instance{State: limactl.Running},
		guestErr: fmt.Errorf("status: %w", &child.ResourceError{Program: "/usr/bin/ssh", Err: syscall.EMFILE})})
	if st.State != NotAsked || st.Cause != "this machine cannot run ssh: too many open files" || st.Repair != "ulimit -n 1024" {
		t.Errorf("%s, %q, %q", st.State, st.Cause, st.Repair)
	}
}
