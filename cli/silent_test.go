package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If limactl list prints nothing although the VM is there, no verb says that the box is stopped or was never made.
func TestSilentListIsNoAbsence(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	real := m.limactl
	m.limactl = filepath.Join(m.dir, "silent-limactl")
	if err := os.WriteFile(m.limactl, []byte("#!/bin/sh\n[ \"$1\" = list ] && exit 0\nexec '"+real+"' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"stop"}, {"status"}, {"status", "--json"}} {
		out, stderr, err := m.run(args...)
		out += stderr
		for _, no := range []string{"stopped already", "not made yet", `"absent"`, `"stopped"`} {
			if strings.Contains(out, no) {
				t.Errorf("%v says %q: %s", args, no, out)
			}
		}
		if args[0] == "stop" && (err == nil || !strings.Contains(out, "limactl list does not show instance main")) {
			t.Errorf("stop: %v %s", err, out)
		}
	}
	m.limactl = real
	m.wantSound("a stop with a silent limactl list")
}
