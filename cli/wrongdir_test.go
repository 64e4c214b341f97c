package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Without a config in the current directory, the hint is to change to the directory of an existing box. If there is no
// box, or --config names a file that is missing, the hint is to make a config.
func TestInTheWrongDirectory(t *testing.T) {
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "a box")
	t.Setenv("HERMES_BOX_HOME", home)
	t.Setenv("HERMES_BOX_CONFIG", "")
	t.Chdir(t.TempDir())
	a := &app{}
	if _, err := a.configPath(); !strings.HasPrefix(fault.HintOf(err), "printf ") {
		t.Errorf("without any box: %v, hint %q", err, fault.HintOf(err))
	}
	h, err := store.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.SaveRecord(&store.Record{Name: "main", ConfigDir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.configPath(); fault.CodeOf(err) != fault.InvalidInput || !strings.Contains(fault.HintOf(err), ": cd '"+dir+"'") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
	a.configFlag = "other.yaml"
	if _, err := a.configPath(); !strings.HasPrefix(fault.HintOf(err), "printf ") {
		t.Errorf("with --config: %v, hint %q", err, fault.HintOf(err))
	}
}
