package guest_test

import (
	"os"
	"path/filepath"
	"testing"

	"hermes-box/guest"
	"hermes-box/guest/protocol"
	"hermes-box/guest/simulate"
)

// The rehearsal machine can be made into a box, started and stopped like a real one.
func TestBootstrapRehearsal(t *testing.T) {
	root := t.TempDir()
	keys := filepath.Join(root, "home/agent/.ssh/authorized_keys")
	if err := os.MkdirAll(filepath.Dir(keys), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, []byte("ssh-ed25519 AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	machine := simulate.Open(root)
	if err := machine.AddDisk("/dev/vdb", guest.Disk{Size: 1 << 30, Blank: true}); err != nil {
		t.Fatal(err)
	}
	g := &guest.Guest{Root: root, System: machine}
	ask := protocol.Bootstrap{Box: "main", DataDevice: "/dev/vdb", Format: true, Ports: protocol.Ports{Executor: 4788, Dashboard: 9119}}
	first, err := g.Bootstrap(t.Context(), ask)
	if err != nil || !first.Formatted {
		t.Fatalf("%+v, %v", first, err)
	}
	if s, err := g.Start(t.Context()); err != nil || s.DataUUID != first.DataUUID || s.DataProblem != "" {
		t.Errorf("start: %+v, %v", s, err)
	}
	if _, err := g.Quiesce(t.Context()); err != nil {
		t.Error(err)
	}
	second, err := g.Bootstrap(t.Context(), ask)
	if err != nil || second.Formatted || second.DataUUID != first.DataUUID {
		t.Errorf("again: %+v, %v", second, err)
	}
}
