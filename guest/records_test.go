package guest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"hermes-box/guest/protocol"
)

const records = "/var/lib/hermes-box/"

// The error for a record with fields of a newer version says which version wrote it, and does not call it damaged.
// No file but ports.env, which apply writes first, is changed.
func TestRecordsOfANewerVersion(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"journal":             {"journal.json", `{"version":99,"step":"ahead","more":1}`, "journal.json was written by a newer version of hermes-box (protocol 99; this one has"},
		"journal, other type": {"journal.json", `{"version":99,"step":7}`, "protocol 99"},
		"applied":             {"applied.json", `{"version":99,"components":{"node":{"name":"node","more":1}}}`, "applied.json was written by a newer version"},
		"releases":            {"releases.json", `{"version":99,"components":{"node":{"more":1}}}`, "releases.json was written by a newer version"},
		"damaged":             {"applied.json", fmt.Sprintf(`{"version":%d,"comp`, protocol.Version), "applied.json is damaged"},
		"unknown field":       {"journal.json", fmt.Sprintf(`{"version":%d,"step":"ahead","more":1}`, protocol.Version), "journal.json is damaged"},
		"empty":               {"releases.json", "", "releases.json is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFirst(t)
			b.write(records+c.file, c.text)
			before := b.tree()
			err := b.apply(2, "node")
			if err == nil || !strings.Contains(err.Error(), c.want) || codeOf(err) != "integrity_failed" {
				t.Errorf("%v", err)
			}
			after := b.tree()
			delete(before, "var/lib/hermes-box/ports.env")
			delete(after, "var/lib/hermes-box/ports.env")
			for path, text := range before {
				if after[path] != text {
					t.Errorf("%s was changed", path)
				}
			}
		})
	}
}

// A record of a newer version is read if it has no unknown fields.
func TestRecordsOfANewerVersionInOurForm(t *testing.T) {
	b := newFirst(t)
	text := b.read(records + "applied.json")
	b.write(records+"applied.json", strings.Replace(text, fmt.Sprintf(`"version": %d`, protocol.Version), `"version": 99`, 1))
	if got := b.versions(); got["node"] != "24.17.1" || b.read(records+"applied.json") == text {
		t.Errorf("applied: %v", got)
	}
}

// Helpers up to protocol 3 wrote records without a version: only the components, with fields that no longer exist.
func TestRecordsOfAnOlderVersion(t *testing.T) {
	b := newFirst(t)
	for _, file := range []string{"applied.json", "releases.json"} {
		var record struct{ Components json.RawMessage }
		must(t, json.Unmarshal([]byte(b.read(records+file)), &record))
		text := strings.Replace(string(record.Components), `"version": "2.1.1",`, `"version": "2.1.1", "source": "pkg:npm/x",`, 1)
		b.write(records+file, text)
	}
	if got := b.versions(); len(got) != 6 || got["claude"] != "2.1.1" {
		t.Fatalf("applied: %v", got)
	}
	must(t, b.apply(2, "claude"))
	b.consistent(t)
	state, err := b.AppliedState()
	must(t, err)
	if c := state["claude"]; c.Version != "2.1.2" || c.Previous != "2.1.1" || len(state) != 6 {
		t.Errorf("%+v", state)
	}
	b.write(records+"journal.json", `{"transaction":{"id":"old","lock":"","components":null,"ports":{"executor":1,"dashboard":2},"gone":1},"boot":"","step":"ahead","candidate":{"component":{"name":"","version":"","source":"","artifacts":null},"dir":""},"fresh":false,"running":false}`)
	if r, err := b.Recover(t.Context()); err != nil || r.Action != "undone" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(b.Path(records + "journal.json")); err == nil {
		t.Error("the journal is still there")
	}
}
