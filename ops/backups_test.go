package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// A backup is named by its id, by a beginning of the id that no other backup has, or by latest. Ids of old backups may
// end in a dash.
func TestBackupNamed(t *testing.T) {
	t.Parallel()
	home, err := store.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	b := &Box{Host: &Host{Dir: string(home)}, Home: home, Config: &config.Config{Name: "main"}}
	if _, err := b.backupNamed(Latest); fault.CodeOf(err) != fault.NotFound || !strings.Contains(err.Error(), "has no backup") {
		t.Error(err)
	}
	if err := os.MkdirAll(b.Pool(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"20260401T120000Z-", "20260401T120000Z-first", "20260402T120000Z", "20260402T120001Z", "20260401T110000Z-again", "20260401T110001Z-again"} {
		if err := os.WriteFile(filepath.Join(b.Pool(), id+".json"), nil, 0o600); err != nil { // a damaged backup has a name too
			t.Fatal(err)
		}
	}
	for given, want := range map[string]string{
		"20260401T120000Z-":      "20260401T120000Z-",
		"20260401T120000Z-f":     "20260401T120000Z-first",
		"20260401T120000Z-first": "20260401T120000Z-first",
		"20260402T120000Z":       "20260402T120000Z",
		"20260402T120001":        "20260402T120001Z",
		"first":                  "20260401T120000Z-first",
		"latest":                 "20260402T120001Z",
	} {
		if id, err := b.backupNamed(given); err != nil || id != want {
			t.Errorf("%s: %q %v", given, id, err)
		}
	}
	for given, want := range map[string]string{
		"":                 `there is no backup ""`,
		"20270":            `there is no backup "20270"`,
		"other":            `there is no backup "other"`,
		"again":            `more than one backup has the label "again": 20260401T110001Z-again, 20260401T110000Z-again`,
		"20260401T120000Z": `"20260401T120000Z" is the beginning of more than one backup: 20260401T120000Z-first, 20260401T120000Z-`,
		"20260402":         `"20260402" is the beginning of more than one backup: 20260402T120001Z, 20260402T120000Z`,
	} {
		if id, err := b.backupNamed(given); err == nil || err.Error() != want {
			t.Errorf("%s: %q %v", given, id, err)
		}
	}
}

// A path is given as the guest knows it, or with a ~ that the shell of this machine has replaced.
func TestPathsInTheBox(t *testing.T) {
	t.Setenv("HOME", "/Users/me")
	for given, want := range map[string]string{
		"/workspace/a b": "home/agent/workspace/a b", "/data/executor": "executor", "/data": ".", ".": ".", "executor/": "executor",
		"~": "home/agent", "~/.codex": "home/agent/.codex", "/home/agent/x": "home/agent/x", "/Users/me": "home/agent", "/Users/me/notes/": "home/agent/notes",
		"./-x": "-x", "~x": "~x", "/workspace": "home/agent/workspace",
	} {
		g := &getting{}
		if err := g.want(given); err != nil || string(g.wanted[0].path) != want {
			t.Errorf("%s: %v %v", given, g.wanted, err)
		}
	}
	for _, given := range []string{"", "/Users/meme", "/etc/passwd", "/datax", "../x"} {
		if err := (&getting{}).want(given); err == nil {
			t.Errorf("%q passes", given)
		}
	}
}
