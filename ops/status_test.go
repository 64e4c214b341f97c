package ops

import (
	"os"
	"strings"
	"testing"

	"hermes-box/guest/protocol"
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

// applied is the status of a guest that has a lock applied, all healthy.
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
		want := protocol.Healthy
		if c.Name == "codex" {
			want = "drifted"
			if c.Desired != "2.0.0" || c.Applied != "1.0.0" {
				t.Errorf("codex: %+v", c)
			}
		}
		if c.State != want {
			t.Errorf("%s is %s, want %s", c.Name, c.State, want)
		}
	}
	if len(st.Platform) != 1 {
		t.Errorf("platform drift: %+v", st.Platform)
	}
	if d := b.drift(st.Guest); len(d.Components) != 1 || len(d.Platform) != 1 {
		t.Errorf("drift: %+v", d)
	}
}

func TestWhatFailsIsNotCalledDrifted(t *testing.T) {
	guest := applied(fixture(t))
	guest.Components[3].State, guest.Components[3].Detail = protocol.FailedState, "gone"
	b := &Box{Config: &config.Config{}, Lock: fixture(t, "pkg:npm/%40openai/codex@1.0.0", "pkg:npm/%40openai/codex@2.0.0", "codex:\n    version: 1.0.0", "codex:\n    version: 2.0.0")}
	st := &Status{Live: true, Guest: guest}
	b.compare(st)
	if c := st.Components[3]; c.State != protocol.FailedState || c.Detail != "gone" {
		t.Errorf("codex: %+v", c)
	}
}

// The last known is never shown as current.
func TestLastKnownIsStopped(t *testing.T) {
	b := &Box{Config: &config.Config{}, Lock: fixture(t)}
	st := &Status{Guest: applied(fixture(t))}
	b.compare(st)
	for _, c := range st.Components {
		if c.State != protocol.Stopped || c.Service != "" || c.Since != 0 {
			t.Errorf("%+v", c)
		}
	}
}

// The ports of a box are those it was made with, whatever the config says since; that it says otherwise is drift.
func TestEditedConfigIsDrift(t *testing.T) {
	cfg := &config.Config{Path: "/c/hermes-box.yaml", VM: config.VM{CPUs: 4, Memory: 8 << 30}, Ports: config.Ports{Executor: 4788, Dashboard: 9119}}
	b := &Box{Config: cfg}
	b.Record = &store.Record{Machine: b.desired()}
	if d := b.machineDrift(); len(d) != 0 {
		t.Errorf("drift of nothing: %+v", d)
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
