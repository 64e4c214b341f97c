package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops/fault"
)

// A path is unreachable only if a symlink in it leads nowhere.
func TestReachable(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "real"), 0o700),
		os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "good")),
		os.Symlink(filepath.Join(dir, "away"), filepath.Join(dir, "bad")),
		os.Symlink("bad", filepath.Join(dir, "chain")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, link := range map[string]string{
		"real": "", "real/none": "", "none": "", "none/none": "", "good": "", "good/none/none": "",
		"bad": "bad", "bad/main": "bad", "bad/main/x": "bad", "chain/main": "chain",
	} {
		err := Reachable(filepath.Join(dir, path))
		if (err == nil) != (link == "") || err != nil && (!strings.Contains(err.Error(), filepath.Join(dir, link)+" is a symlink to ") || fault.HintOf(err) == "") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := Reachable("/"); err != nil {
		t.Error(err)
	}
}
