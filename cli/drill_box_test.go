package cli

import (
	"slices"
	"strings"
	"testing"

	"hermes-box/internal/race"
	"hermes-box/internal/rehearsal"
	"hermes-box/ops"
)

// A drill restores a backup into a box of its own beside the running box, compares it, and removes only that box. If
// the drill is killed, the next backup removes its box.
func TestDrillBox(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeForeign()
	m.makeOddBox()
	id := m.backupID()
	before, home := m.inventory(), m.homeTree()
	drill := []string{"backup", "drill", "--mirror", m.mirror}
	done := decode[ops.Drill](t, m.must(append(drill, "--json")...)).Result
	if done.Backup != id || done.Into != "box" || done.Entries < 20 || done.Bytes < 3000000 || done.Expected == "" || done.Expected != done.Found || done.Different != 0 || len(done.Software) != 6 || done.Problem != "" {
		t.Errorf("%+v", done)
	}
	check := func(after string) {
		t.Helper()
		if remaining := m.inventory(); !slices.Equal(remaining, before) {
			t.Fatalf("after %s, remaining: %v, want %v", after, remaining, before)
		}
		if left := m.inDrills(); slices.ContainsFunc(left, func(name string) bool { return !strings.HasSuffix(name, "-box.json") }) {
			t.Errorf("after %s the directory of the drills holds %q", after, left)
		}
		m.wantSound(after)
	}
	check("a drill")
	if after := m.homeTree(); after != home {
		t.Errorf("the drill has changed the box:\n%q\nwas\n%q", after, home)
	}
	if out := m.must("key", "status", "--json"); strings.Contains(out, "earlier") {
		t.Errorf("the drill has changed the key: %s", out)
	}
	steps := m.steps(drill...)
	if want := []string{"open", "preflight", "image", "fetch", "claim", "disk", "vm", "boot", "helper", "format", "unpack", "bootstrap", "compare", "upload", "install", "report", "remove"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	for _, step := range race.Sample(steps, 3) {
		m.killAfter(step, drill...)
		if made := step != "remove" && slices.Index(steps, step) >= slices.Index(steps, "claim"); made == slices.Equal(m.inventory(), before) {
			t.Errorf("killed after %s, remaining: %v", step, m.inventory())
		}
		m.must("backup", "--quiet")
		check("a drill that was killed after " + step)
	}
	_, events, err := m.run(append(drill, "--events")...)
	cut, unpack := strings.Index(events, `"phase":"offline","state":"done"`), strings.Index(events, `"event":"started","operation":"drill","box":"main","step":"unpack"`)
	if err != nil || cut < 0 || unpack < cut {
		t.Errorf("the network is not cut off before the files are unpacked: %v; the events are at %d and %d", err, cut, unpack)
	}
	check("another drill")

	// A command in the hint acts on the box of the user, so the hint names nothing that is meant for the throw-away box.
	inject(t, m, rehearsal.StartFails)
	_, stderr, err := m.run(drill...)
	if _, hint, _ := strings.Cut(stderr, "hint: "); err == nil || strings.TrimSpace(hint) != "to see all of it: hermes-box logs operations; to try the backup without a box: hermes-box backup drill --files" {
		t.Errorf("%v %s", err, stderr)
	}
	check("a drill whose box did not boot")
}
