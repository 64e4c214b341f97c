package guest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"hermes-box/guest"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// If a component fails in any phase, the machine is as it was before the apply.
func TestFailureIsUndone(t *testing.T) {
	fail := func(effect string) func(*box, *protocol.Transaction) {
		return func(b *box, _ *protocol.Transaction) {
			failed := false
			b.sys.Fail = func(e string) error {
				if !failed && strings.HasPrefix(e, effect) {
					failed = true
					return errors.New("sabotage")
				}
				return nil
			}
		}
	}
	for _, tt := range []struct {
		component, phase, code string
		sabotage               func(*box, *protocol.Transaction)
	}{
		{"uv", "stage", "external_failed", fail("sync")},
		{"uv", "smoke", "health_failed", fail("run uv")},
		{"hermes", "stage", "external_failed", fail("run uv")},
		{"hermes", "smoke", "health_failed", fail("run hermes")},
		{"hermes", "activate", "external_failed", fail("enable")},
		{"hermes", "activate", "external_failed", fail("restart")},
		{"executor", "smoke", "health_failed", fail("load")},
		{"executor", "smoke", "health_failed", fail("run podman")},
		{"executor", "activate", "external_failed", fail("restart")},
		{"hermes", "health", "health_failed", func(b *box, _ *protocol.Transaction) {
			b.Machine = &sick{b.sys, "hermes", "0.19.2", machine.Unit{Active: "failed", Result: "exit-code"}}
		}},
		{"executor", "health", "health_failed", func(b *box, _ *protocol.Transaction) {
			b.Machine = &sick{b.sys, "executor", "1.5.2", machine.Unit{Active: "activating", Sub: "auto-restart", Restart: 3}}
		}},
		{"uv", "health", "health_failed", func(b *box, _ *protocol.Transaction) { // hermes does not run with the new uv
			fail("run hermes")(b, nil)
		}},
		{"claude", "smoke", "health_failed", func(_ *box, tx *protocol.Transaction) { tx.Components[0].Version = "2.1.9" }},
		{"claude", "stage", "integrity_failed", func(b *box, tx *protocol.Transaction) {
			name := strings.Replace(tx.Components[0].Artifacts[0].Digest, ":", "/", 1)
			must(b.t, os.WriteFile(b.Path("/var/lib/hermes-box/objects", name), []byte("sabotaged"), 0o644))
		}},
		{"codex", "stage", "external_failed", func(b *box, tx *protocol.Transaction) {
			o := objects{}
			tx.Components[0].Artifacts[0].Digest = o.add(tgz("../../../../usr/local/bin/codex", "#!/bin/sh\n"))
			b.send(o)
		}},
		{"node", "activate", "already_exists", func(b *box, _ *protocol.Transaction) {
			must(b.t, os.Remove(b.Path("/usr/local/bin/npm")))
			must(b.t, os.WriteFile(b.Path("/usr/local/bin/npm"), nil, 0o755))
		}},
	} {
		t.Run(tt.component+" "+tt.phase+" "+tt.code, func(t *testing.T) {
			b := newFirst(t)
			tx, o := transaction(2, tt.component)
			b.send(o)
			tt.sabotage(b, &tx)
			before, images := b.tree(), b.sys.Images()
			_, err := b.Apply(context.Background(), tx)
			var e *protocol.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Component != tt.component || e.Phase != tt.phase || e.Code != tt.code {
				t.Errorf("error %+v", e)
			}
			diff(t, before, b.tree())
			if !slices.Equal(images, b.sys.Images()) {
				t.Errorf("images %v, before %v", b.sys.Images(), images)
			}
			units, _ := b.sys.Units(context.Background(), "hermes.service", "executor.service")
			for name, u := range units {
				if u.Active != "active" {
					t.Errorf("%s is %+v", name, u)
				}
			}
			last := b.events[len(b.events)-1]
			if last.State != protocol.Undone || last.Component != tt.component {
				t.Errorf("last event %+v", last)
			}
		})
	}
}

// sick is a machine on which one version of a component never becomes healthy.
type sick struct {
	guest.Machine
	component, version string
	as                 machine.Unit
}

func (s *sick) Units(ctx context.Context, names ...string) (map[string]machine.Unit, error) {
	units, err := s.Machine.Units(ctx, names...)
	for name := range units {
		if name == s.component+".service" && s.current() {
			units[name] = s.as
		}
	}
	return units, err
}

func (s *sick) current() bool {
	root := s.Machine.(interface{ Root() string }).Root()
	link, err := os.Readlink(filepath.Join(root, "opt/hermes-box/current", s.component))
	return err == nil && filepath.Base(link) == s.version
}

func TestHealthIsBounded(t *testing.T) {
	b := newFirst(t)
	tx, o := transaction(2, "executor")
	b.send(o)
	b.Machine = &sick{b.sys, "executor", "1.5.2", machine.Unit{Active: "activating", Sub: "start"}}
	synctest.Test(t, func(t *testing.T) {
		_, err := b.Apply(context.Background(), tx)
		if err == nil || !strings.Contains(err.Error(), "5m0s") {
			t.Errorf("error %v", err)
		}
	})
	b.Machine = b.sys
	b.wantGeneration(t, 1, nil)
}

// A component that is healthy but could not be recorded is not undone: the next recovery records it.
func TestRecordThatFailsIsFinishedLater(t *testing.T) {
	b := newFirst(t)
	obstacle := b.Path("/var/lib/hermes-box/applied.json.new")
	must(t, os.Mkdir(obstacle, 0o755))
	err := b.apply(2, "executor")
	var e *protocol.Error
	if !errors.As(err, &e) || e.Component != "executor" {
		t.Fatalf("error %v", err)
	}
	must(t, os.Remove(obstacle))
	r, err := b.Recover(context.Background())
	if err != nil || r.Action != "finished" {
		t.Errorf("%+v, %v", r, err)
	}
	b.consistent(t)
	if v := b.versions()["executor"]; v != "1.5.2" {
		t.Errorf("executor is %s", v)
	}
}

func TestCancelIsUndone(t *testing.T) {
	b := newFirst(t)
	tx, o := transaction(2)
	b.send(o)
	ctx, cancel := context.WithCancel(context.Background())
	b.After = func(step string) {
		if step == "restart hermes.service" {
			cancel()
		}
	}
	_, err := b.Apply(ctx, tx)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != "interrupted" || e.Component != "hermes" {
		t.Errorf("error %+v", err)
	}
	b.After = nil
	b.consistent(t)
	if v := b.versions(); v["codex"] != "0.171.2" || v["hermes"] != "0.19.1" || v["executor"] != "1.5.1" {
		t.Errorf("applied %v", v)
	}
}
