package guest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"hermes-box/guest/machine"
)

func TestMovedPortsReachTheService(t *testing.T) {
	b := newFirst(t)
	tx, _ := transaction(1)
	tx.Ports.Executor = 5000
	n := len(b.sys.Did())
	if _, err := b.Apply(context.Background(), tx); err != nil {
		t.Fatal(err)
	}
	if did := b.sys.Did()[n:]; !slices.Contains(did, "restart executor.service") {
		t.Errorf("effects %v", did)
	}
}

// An apply records the ports before it applies the components, and a bootstrap records them too. A service that has not
// been restarted since then still runs with the old ports. The next apply of its component restarts it.
func TestMovedPortsAreNotForgotten(t *testing.T) {
	tx, _ := transaction(1)
	tx.Ports.Executor = 5000
	for name, first := range map[string]func(*box) error{
		"a failed apply": func(b *box) error {
			other, o := transaction(2, "claude")
			other.Ports, other.Components[0].Version = tx.Ports, "2.1.9" // not the version of its artifacts
			b.send(o)
			if _, err := b.Apply(t.Context(), other); err == nil {
				return errors.New("the apply did not fail")
			}
			return nil
		},
		"an apply of another component": func(b *box) error {
			other, o := transaction(2, "claude")
			other.Ports = tx.Ports
			b.send(o)
			_, err := b.Apply(t.Context(), other)
			return err
		},
		"a bootstrap": func(b *box) error {
			must(t, b.sys.AddDisk("/dev/vdb", machine.Disk{Size: diskSize, Type: "ext4", UUID: dataUUID}))
			b.write("/etc/ssh/authorized_keys.d/agent", "ssh-ed25519 AAAA lima\n")
			b.write("/home/agent/.ssh/authorized_keys", "ssh-ed25519 AAAA lima\n")
			ask := askFormat()
			ask.Format, ask.DataUUID, ask.Ports = false, dataUUID, tx.Ports
			_, err := b.Bootstrap(t.Context(), ask)
			return err
		},
	} {
		b := newFirst(t)
		must(t, first(b))
		again, o := transaction(1)
		again.Ports = tx.Ports
		b.send(o)
		n := len(b.sys.Did())
		if _, err := b.Apply(t.Context(), again); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if did := b.sys.Did()[n:]; !slices.Contains(did, "restart "+executorUnit) || !slices.Contains(did, "restart "+hermesUnit) {
			t.Errorf("after %s: effects %v", name, did)
		}
		n = len(b.sys.Did())
		if _, err := b.Apply(t.Context(), again); err != nil || slices.Contains(b.sys.Did()[n:], "restart "+executorUnit) {
			t.Errorf("after %s, once more: %v, effects %v", name, err, b.sys.Did()[n:])
		}
	}
}
