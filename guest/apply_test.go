package guest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofrs/flock"

	"hermes-box/guest"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

var order = []string{"node", "uv", "claude", "codex", "hermes", "executor"}

func TestApplyAll(t *testing.T) {
	b := newBox(t)
	must(t, b.apply(1))
	b.whole(t, 1, nil)
	if lock, err := b.AppliedLock(); lock != "lock 1\n" || err != nil {
		t.Errorf("lock %q, %v", lock, err)
	}
	if left, err := b.Objects().Digests(); len(left) != 0 || err != nil {
		t.Errorf("objects left: %v, %v", left, err)
	}
	got := map[string][]string{}
	for _, e := range b.events {
		if e.State == protocol.Done {
			got[e.Component] = append(got[e.Component], e.Phase)
		}
	}
	for _, c := range order {
		if want := []string{"stage", "smoke", "activate", "health"}; !slices.Equal(got[c], want) {
			t.Errorf("%s: phases done: %v", c, got[c])
		}
	}
	for name, target := range map[string]string{
		"node": "bin/node", "npm": "bin/npm", "npx": "bin/npx", "uv": "bin/uv", "uvx": "bin/uvx", "claude": "bin/claude",
		"codex": "bin/codex", "hermes": "bin/hermes"} {
		link, err := os.Readlink(b.Path("/usr/local/bin", name))
		if err != nil || !strings.HasSuffix(link, target) {
			t.Errorf("%s -> %q, %v", name, link, err)
		}
		if _, err := os.Stat(b.Path("/usr/local/bin", name)); err != nil {
			t.Error(err)
		}
	}
	err := filepath.WalkDir(b.Path("/opt/hermes-box/releases"), func(path string, d os.DirEntry, err error) error {
		if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 && info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s can be written by others: %v, %v", path, info.Mode(), err)
		}
		return err
	})
	must(t, err)
}

func TestApplyAgainIsSkipped(t *testing.T) {
	b := newFirst(t)
	before, n := b.tree(), len(b.sys.Did())
	b.events = nil
	must(t, b.apply(1))
	if !maps.Equal(before, b.tree()) {
		t.Error("something has changed")
	}
	for _, e := range b.events {
		if e.State != protocol.Skipped {
			t.Errorf("event %+v", e)
		}
	}
	if did := b.sys.Did()[n:]; slices.ContainsFunc(did, func(s string) bool { return strings.HasPrefix(s, "restart") }) {
		t.Errorf("effects: %v", did)
	}
}

func TestUpdateKeepsOnePrevious(t *testing.T) {
	b := newBox(t)
	for generation := 2; generation <= 3; generation++ {
		must(t, b.apply(generation))
	}
	b.whole(t, 3, map[string]string{"node": "24.17.2", "uv": "0.11.2", "claude": "2.1.2", "codex": "0.171.2", "hermes": "0.19.2", "executor": "1.5.2"})
	// Back to the previous one without any object: it is on disk.
	tx, _ := transaction(2)
	if _, err := b.Apply(context.Background(), tx); err != nil {
		t.Fatal(err)
	}
	b.whole(t, 2, map[string]string{"node": "24.17.3", "uv": "0.11.3", "claude": "2.1.3", "codex": "0.171.3", "hermes": "0.19.3", "executor": "1.5.3"})
}

func TestSameVersionOtherArtifacts(t *testing.T) {
	b := newFirst(t)
	tx, o := transaction(1, "claude")
	data := tgz("package/claude", "#!/bin/sh\n# repacked\necho 2.1.1\n")
	tx.Components[0].Artifacts[0].Digest = o.add(data)
	b.send(o)
	if _, err := b.Apply(context.Background(), tx); err != nil {
		t.Fatal(err)
	}
	link, err := os.Readlink(b.Path("/opt/hermes-box/current/claude"))
	if want := "../releases/claude/2.1.1-2"; link != want || err != nil {
		t.Errorf("current is %q, %v, want %q", link, err, want)
	}
}

func TestLostReleaseIsRepaired(t *testing.T) {
	for name, damage := range map[string]func(*box){
		"directory gone": func(b *box) { must(t, os.RemoveAll(b.Path("/opt/hermes-box/releases/executor/1.5.2"))) },
		"image gone": func(b *box) {
			must(t, b.sys.RemoveImage(context.Background(), "localhost/hermes-box/executor:1.5.2"))
		},
		"link gone":       func(b *box) { must(t, os.Remove(b.Path("/opt/hermes-box/current/executor"))) },
		"image not named": func(b *box) { must(t, os.Remove(b.Path("/opt/hermes-box/releases/executor/1.5.2/executor.env"))) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newFirst(t)
			must(t, b.apply(2, "executor"))
			damage(b)
			must(t, b.apply(2, "executor"))
			b.consistent(t)
			if state, _ := b.AppliedState(); state["executor"].Version != "1.5.2" || state["executor"].Previous != "1.5.1" {
				t.Errorf("executor is %+v", state["executor"])
			}
		})
	}
}

// What has lost its program is not applied any more, whatever the record says.
func TestLostProgramIsRepaired(t *testing.T) {
	b := newFirst(t)
	for _, program := range []string{"node/bin/node", "uv/bin/uv", "claude/bin/claude", "codex/bin/codex", "hermes/bin/hermes"} {
		must(t, os.Remove(b.Path("/opt/hermes-box/current", program)))
	}
	must(t, b.apply(1))
	b.whole(t, 1, nil)
	s, err := b.Status(context.Background())
	must(t, err)
	for _, c := range s.Components {
		if c.State != protocol.Healthy && c.State != protocol.SetupRequired {
			t.Errorf("%+v", c)
		}
	}
}

// What is applied already is proven all the same: a service that was stopped is started, and one that cannot work
// fails the apply.
func TestAppliedIsProvenAgain(t *testing.T) {
	for name, as := range map[string]machine.Unit{"stopped": {Active: "inactive"}, "failed": {Active: "failed", Result: "exit-code"}} {
		b := newFirst(t)
		must(t, b.sys.Break(executorUnit, as))
		must(t, b.sys.Break(hermesUnit, as))
		if err := b.apply(1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.consistent(t) // both run
	}
	b := newFirst(t)
	b.sys.Crashes = func(unit string) bool { return unit == executorUnit }
	must(t, b.sys.Break(executorUnit, machine.Unit{Active: "inactive"}))
	err := b.apply(1)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != "health_failed" || e.Component != "executor" || e.Phase != protocol.PhaseHealth {
		t.Errorf("a service that ends at once: %+v", err)
	}
}

// Every way a component can fail leaves everything as it was.
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
		{"uv", "health", "health_failed", func(b *box, _ *protocol.Transaction) { // hermes does not run on the new one
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

// sick is a machine on which one version of one component does not come up.
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
	did := s.Machine.(interface{ Root() string }).Root()
	link, err := os.Readlink(filepath.Join(did, "opt/hermes-box/current", s.component))
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
	b.whole(t, 1, nil)
}

// What is healthy but could not be recorded is not undone: the next recovery records it.
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

func TestMovedPortsReachTheService(t *testing.T) {
	b := newFirst(t)
	tx, _ := transaction(1)
	tx.Ports.Executor = 5000
	n := len(b.sys.Did())
	if _, err := b.Apply(context.Background(), tx); err != nil {
		t.Fatal(err)
	}
	if did := b.sys.Did()[n:]; !slices.Contains(did, "restart executor.service") {
		t.Errorf("effects %v", did)
	}
}

// The ports are recorded before anything else is done, so a run that fails after that has moved them, and no service:
// the next one that comes to the service's turn does.
func TestMovedPortsAreNotForgotten(t *testing.T) {
	tx, _ := transaction(1)
	tx.Ports.Executor = 5000
	for name, first := range map[string]func(*box) error{
		"a failed apply": func(b *box) error {
			other, o := transaction(2, "claude")
			other.Ports, other.Components[0].Version = tx.Ports, "2.1.9" // which it is not
			b.send(o)
			if _, err := b.Apply(t.Context(), other); err == nil {
				return errors.New("it did not fail")
			}
			return nil
		},
		"an apply of another component": func(b *box) error {
			other, o := transaction(2, "claude")
			other.Ports = tx.Ports
			b.send(o)
			_, err := b.Apply(t.Context(), other)
			return err
		},
		"a bootstrap": func(b *box) error {
			must(t, b.sys.AddDisk("/dev/vdb", machine.Disk{Size: diskSize, Type: "ext4", UUID: dataUUID}))
			b.write("/etc/ssh/authorized_keys.d/agent", "ssh-ed25519 AAAA lima\n")
			b.write("/home/agent/.ssh/authorized_keys", "ssh-ed25519 AAAA lima\n")
			ask := askFormat()
			ask.Format, ask.DataUUID, ask.Ports = false, dataUUID, tx.Ports
			_, err := b.Bootstrap(t.Context(), ask)
			return err
		},
	} {
		b := newFirst(t)
		must(t, first(b))
		again, o := transaction(1)
		again.Ports = tx.Ports
		b.send(o)
		n := len(b.sys.Did())
		if _, err := b.Apply(t.Context(), again); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if did := b.sys.Did()[n:]; !slices.Contains(did, "restart "+executorUnit) || !slices.Contains(did, "restart "+hermesUnit) {
			t.Errorf("after %s: effects %v", name, did)
		}
		n = len(b.sys.Did())
		if _, err := b.Apply(t.Context(), again); err != nil || slices.Contains(b.sys.Did()[n:], "restart "+executorUnit) {
			t.Errorf("after %s, once more: %v, effects %v", name, err, b.sys.Did()[n:])
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	good := func() protocol.Transaction { tx, _ := transaction(1); return tx }
	for name, spoil := range map[string]func(*protocol.Transaction){
		"id":                func(tx *protocol.Transaction) { tx.ID = "../x" },
		"no id":             func(tx *protocol.Transaction) { tx.ID = "" },
		"port":              func(tx *protocol.Transaction) { tx.Ports.Executor = 70000 },
		"equal ports":       func(tx *protocol.Transaction) { tx.Ports.Executor = tx.Ports.Dashboard },
		"unknown component": func(tx *protocol.Transaction) { tx.Components[0].Name = "deno" },
		"twice":             func(tx *protocol.Transaction) { tx.Components[0].Name = "uv" },
		"version":           func(tx *protocol.Transaction) { tx.Components[0].Version = "../../etc" },
		"hidden version":    func(tx *protocol.Transaction) { tx.Components[0].Version = ".staging-x" },
		"no artifacts":      func(tx *protocol.Transaction) { tx.Components[0].Artifacts = nil },
		"artifact name":     func(tx *protocol.Transaction) { tx.Components[0].Artifacts[0].Name = "a/b" },
		"digest":            func(tx *protocol.Transaction) { tx.Components[0].Artifacts[0].Digest = "sha256:../../../etc/passwd" },
		"blob":              func(tx *protocol.Transaction) { tx.Components[5].Artifacts[0].Blobs[0].Digest = "md5:00" },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			before := b.tree()
			tx := good()
			spoil(&tx)
			_, err := b.Apply(context.Background(), tx)
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != "invalid_input" {
				t.Errorf("error %v", err)
			}
			diff(t, before, b.tree())
		})
	}
	t.Run("no data disk", func(t *testing.T) {
		b := newBox(t)
		must(t, b.sys.SetMount("/data", ""))
		before := b.tree()
		_, err := b.Apply(context.Background(), good())
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "integrity_failed" {
			t.Errorf("error %v", err)
		}
		diff(t, before, b.tree())
	})
	t.Run("hermes without uv", func(t *testing.T) {
		b := newBox(t)
		err := b.apply(1, "hermes")
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "preflight_failed" || e.Phase != "stage" {
			t.Errorf("error %v", err)
		}
	})
}

func TestOneAtATime(t *testing.T) {
	b := newBox(t)
	l := flock.New(b.Path("/var/lib/hermes-box/mutex"))
	must(t, os.MkdirAll(b.Path("/var/lib/hermes-box"), 0o755))
	must(t, l.Lock())
	defer l.Close()
	// The services of a first apply pull the recovery unit in: it must neither wait nor undo.
	r, err := b.Recover(context.Background())
	if err != nil || r.Action != "none" || r.Detail == "" {
		t.Errorf("%+v, %v", r, err)
	}
	synctest.Test(t, func(t *testing.T) {
		tx, _ := transaction(1)
		_, err := b.Apply(context.Background(), tx)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "busy" {
			t.Errorf("error %v", err)
		}
	})
}

func TestSeedsAreWrittenOnce(t *testing.T) {
	b := newBox(t)
	must(t, b.apply(1, "codex", "executor"))
	token, err := os.ReadFile(b.Path("/data/secrets/executor-token.env"))
	must(t, err)
	if len(token) != len("EXECUTOR_AUTH_TOKEN=\n")+64 {
		t.Errorf("token file %q", token)
	}
	info, err := os.Stat(b.Path("/data/secrets/executor-token.env"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if text := b.read("etc/codex/config.toml"); !strings.Contains(text, "check_for_update_on_startup = false\n") {
		t.Errorf("codex is configured with %q", text)
	}
	config := b.Path("/data/home/agent/.codex/config.toml")
	must(t, os.WriteFile(config, []byte("# mine\n"), 0o600))
	must(t, b.apply(2, "codex", "executor"))
	if text, _ := os.ReadFile(config); string(text) != "# mine\n" {
		t.Errorf("the user's config is %q", text)
	}
	if again, _ := os.ReadFile(b.Path("/data/secrets/executor-token.env")); string(again) != string(token) {
		t.Error("the token has changed")
	}
}
