package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If the record of a box is lost, no verb says that the box does not exist or that its VM is somebody else's, and none
// removes anything. With the record back, the box is as it was.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	record := filepath.Join(m.dir, "home/boxes/main.json")
	if err := os.Rename(record, record+".away"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"start"}, {"backup"}, {"create"}, {"destroy"}, {"destroy", "--force"}, {"destroy", "--backups", "--confirm", "main"},
	} {
		stdout, stderr, err := m.run(append(args, "--quiet")...)
		if err == nil || !strings.Contains(stderr, `the record of box "main" is lost, but its VM and its data disk are still there`) {
			t.Errorf("%v: %v: %s%s", args, err, stdout, stderr)
		}
	}
	if stdout, _, _ := m.run("status"); !strings.Contains(stdout, `the record of box "main" is lost`) {
		t.Errorf("status: %s", stdout)
	}
	if err := os.Rename(record+".away", record); err != nil {
		t.Fatal(err)
	}
	m.wantSound("the record was lost")
}
