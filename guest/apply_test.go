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

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

var order = []string{"node", "uv", "claude", "codex", "hermes", "executor"}

func TestApplyAll(t *testing.T) {
	b := newBox(t)
	must(t, b.apply(1))
	b.wantGeneration(t, 1, nil)
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
		t.Error("applying the same lock again changes the machine")
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
	b.wantGeneration(t, 3, map[string]string{"node": "24.17.2", "uv": "0.11.2", "claude": "2.1.2", "codex": "0.171.2", "hermes": "0.19.2", "executor": "1.5.2"})
	// Going back to the previous release needs no objects, since the release is still on the disk.
	tx, _ := transaction(2)
	if _, err := b.Apply(context.Background(), tx); err != nil {
		t.Fatal(err)
	}
	b.wantGeneration(t, 2, map[string]string{"node": "24.17.3", "uv": "0.11.3", "claude": "2.1.3", "codex": "0.171.3", "hermes": "0.19.3", "executor": "1.5.3"})
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
		"link gone":         func(b *box) { must(t, os.Remove(b.Path("/opt/hermes-box/current/executor"))) },
		"executor.env gone": func(b *box) { must(t, os.Remove(b.Path("/opt/hermes-box/releases/executor/1.5.2/executor.env"))) },
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

// A release whose program is missing is installed again, although it is recorded as applied.
func TestLostProgramIsRepaired(t *testing.T) {
	b := newFirst(t)
	for _, program := range []string{"node/bin/node", "uv/bin/uv", "claude/bin/claude", "codex/bin/codex", "hermes/bin/hermes"} {
		must(t, os.Remove(b.Path("/opt/hermes-box/current", program)))
	}
	must(t, b.apply(1))
	b.wantGeneration(t, 1, nil)
	s, err := b.Status(context.Background())
	must(t, err)
	for _, c := range s.Components {
		if c.State != protocol.Healthy && c.State != protocol.SetupRequired {
			t.Errorf("%+v", c)
		}
	}
}

// A component that is applied already is still checked: its service is started if the service does not run, and the
// apply fails if the component does not become healthy.
func TestAppliedIsCheckedAgain(t *testing.T) {
	for name, as := range map[string]machine.Unit{"stopped": {Active: "inactive"}, "failed": {Active: "failed", Result: "exit-code"}} {
		b := newFirst(t)
		must(t, b.sys.Break(executorUnit, as))
		must(t, b.sys.Break(hermesUnit, as))
		if err := b.apply(1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.consistent(t) // checks that both services run
	}
	b := newFirst(t)
	b.sys.Crashes = func(unit string) bool { return unit == executorUnit }
	must(t, b.sys.Break(executorUnit, machine.Unit{Active: "inactive"}))
	err := b.apply(1)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != "health_failed" || e.Component != "executor" || e.Phase != protocol.PhaseHealth {
		t.Errorf("a service that ends right after its start: %+v", err)
	}
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
