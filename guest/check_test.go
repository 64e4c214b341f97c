package guest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wantGeneration checks that the box is consistent and that all applied components are of this generation. If previous
// has a version for a component, it must be the version of the component's previous release.
func (b *box) wantGeneration(t *testing.T, generation int, previous map[string]string) {
	t.Helper()
	b.consistent(t)
	state, err := b.AppliedState()
	must(t, err)
	for name, c := range state {
		if !strings.HasSuffix(c.Version, fmt.Sprintf(".%d", generation)) {
			t.Errorf("%s is %s", name, c.Version)
		}
		if want, ok := previous[name]; ok && c.Previous != want {
			t.Errorf("the previous release of %s is %q, want %q", name, c.Previous, want)
		}
	}
}

// consistent checks the conditions that hold whenever no change is under way.
func (b *box) consistent(t *testing.T) {
	t.Helper()
	if _, err := os.Lstat(b.Path("/var/lib/hermes-box/journal.json")); err == nil {
		t.Error("there is a journal")
	}
	state, err := b.AppliedState()
	must(t, err)
	var record struct {
		Components map[string]struct {
			Current, Previous *struct {
				Dir       string
				Component struct{ Version string }
			}
		}
	}
	data, err := os.ReadFile(b.Path("/var/lib/hermes-box/releases.json"))
	if err == nil {
		must(t, json.Unmarshal(data, &record))
	}
	var images []string
	for _, name := range order {
		at := "/opt/hermes-box/releases/" + name
		if name == "node" || name == "uv" {
			at = "/opt/hermes-box/tooling/" + name
		}
		var want []string // directories of releases
		if name == "claude" {
			want = append(want, "stranger")
		}
		r := record.Components[name]
		if r.Previous != nil {
			want = append(want, r.Previous.Dir)
			if state[name].Previous != r.Previous.Component.Version {
				t.Errorf("%s: previous is %s in applied.json, %s in releases.json", name, state[name].Previous, r.Previous.Component.Version)
			}
		}
		link, err := os.Readlink(b.Path("/opt/hermes-box/current", name))
		if r.Current == nil {
			if err == nil || state[name].Version != "" {
				t.Errorf("%s is not recorded, but current is %q and applied %q", name, link, state[name].Version)
			}
		} else {
			want = append(want, r.Current.Dir)
			if filepath.Base(link) != r.Current.Dir || state[name].Version != r.Current.Component.Version {
				t.Errorf("%s: current is %q, recorded %q, applied %q", name, link, r.Current.Dir, state[name].Version)
			}
			if _, err := os.Stat(b.Path("/opt/hermes-box/current", name)); err != nil {
				t.Error(err)
			}
		}
		if name == "executor" {
			for _, dir := range want {
				images = append(images, "localhost/hermes-box/executor:"+dir)
			}
		}
		var got []string
		entries, _ := os.ReadDir(b.Path(at))
		for _, e := range entries {
			got = append(got, e.Name())
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", at, got, want)
		}
		b.service(t, name, r.Current != nil)
	}
	slices.Sort(images)
	if !slices.Equal(images, b.sys.Images()) {
		t.Errorf("images %v, want %v", b.sys.Images(), images)
	}
	for name, text := range map[string]string{"/data/home/agent/workspace/sentinel": "mine", "/usr/local/bin/stranger": "not ours",
		"/data/home/agent/.claude/settings.json": "{}", "/opt/hermes-box/releases/claude/stranger": "not ours"} {
		if data, err := os.ReadFile(b.Path(name)); string(data) != text {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	current, _ := os.ReadDir(b.Path("/opt/hermes-box/current"))
	if len(current) != len(state) {
		t.Errorf("%d components are current, but %d are applied", len(current), len(state))
	}
	links, err := os.ReadDir(b.Path("/usr/local/bin"))
	must(t, err)
	for _, e := range links {
		if _, err := os.Stat(b.Path("/usr/local/bin", e.Name())); err != nil || strings.HasPrefix(e.Name(), ".") {
			t.Errorf("command %s: %v", e.Name(), err)
		}
	}
}

// service checks that the service of a component runs if the component is applied, and does not run otherwise.
func (b *box) service(t *testing.T, name string, applied bool) {
	t.Helper()
	if name != "hermes" && name != "executor" {
		return
	}
	units, err := b.sys.Units(context.Background(), name+".service")
	must(t, err)
	if got := units[name+".service"].Active == "active"; got != applied {
		t.Errorf("%s applied %v, running %v", name, applied, got)
	}
}

// diff reports each difference between two trees as an error.
func diff(t *testing.T, want, got map[string]string) {
	t.Helper()
	for path, text := range want {
		if now, ok := got[path]; !ok {
			t.Errorf("%s is gone", path)
		} else if now != text {
			t.Errorf("%s was %.200q, is %.200q", path, text, now)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s is new", path)
		}
	}
}
