package guest_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"

	"github.com/gofrs/flock"

	"hermes-box/guest/protocol"
)

func TestApplyRefuses(t *testing.T) {
	good := func() protocol.Transaction { tx, _ := transaction(1); return tx }
	for name, spoil := range map[string]func(*protocol.Transaction){
		"an id that is a path":            func(tx *protocol.Transaction) { tx.ID = "../x" },
		"no id":                           func(tx *protocol.Transaction) { tx.ID = "" },
		"a port above 65535":              func(tx *protocol.Transaction) { tx.Ports.Executor = 70000 },
		"equal ports":                     func(tx *protocol.Transaction) { tx.Ports.Executor = tx.Ports.Dashboard },
		"unknown component":               func(tx *protocol.Transaction) { tx.Components[0].Name = "deno" },
		"a component twice":               func(tx *protocol.Transaction) { tx.Components[0].Name = "uv" },
		"a version that is a path":        func(tx *protocol.Transaction) { tx.Components[0].Version = "../../etc" },
		"a version that is a hidden name": func(tx *protocol.Transaction) { tx.Components[0].Version = ".staging-x" },
		"no artifacts":                    func(tx *protocol.Transaction) { tx.Components[0].Artifacts = nil },
		"an artifact name with a slash":   func(tx *protocol.Transaction) { tx.Components[0].Artifacts[0].Name = "a/b" },
		"a digest that is a path":         func(tx *protocol.Transaction) { tx.Components[0].Artifacts[0].Digest = "sha256:../../../etc/passwd" },
		"a blob with an md5 digest":       func(tx *protocol.Transaction) { tx.Components[5].Artifacts[0].Blobs[0] = "md5:00" },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			before := b.tree()
			tx := good()
			spoil(&tx)
			_, err := b.Apply(context.Background(), tx)
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != "invalid_input" {
				t.Errorf("error %v", err)
			}
			diff(t, before, b.tree())
		})
	}
	t.Run("no data disk", func(t *testing.T) {
		b := newBox(t)
		must(t, b.sys.SetMount("/data", ""))
		before := b.tree()
		_, err := b.Apply(context.Background(), good())
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "integrity_failed" {
			t.Errorf("error %v", err)
		}
		diff(t, before, b.tree())
	})
	t.Run("hermes without uv", func(t *testing.T) {
		b := newBox(t)
		err := b.apply(1, "hermes")
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "preflight_failed" || e.Phase != "stage" {
			t.Errorf("error %v", err)
		}
	})
}

func TestOneAtATime(t *testing.T) {
	b := newBox(t)
	l := flock.New(b.Path("/var/lib/hermes-box/mutex"))
	must(t, os.MkdirAll(b.Path("/var/lib/hermes-box"), 0o755))
	must(t, l.Lock())
	defer l.Close()
	// The services that a first apply starts require the recovery unit, which runs Recover. Recover must therefore
	// neither wait for the apply nor undo it.
	r, err := b.Recover(context.Background())
	if err != nil || r.Action != "none" || r.Detail == "" {
		t.Errorf("%+v, %v", r, err)
	}
	synctest.Test(t, func(t *testing.T) {
		tx, _ := transaction(1)
		_, err := b.Apply(context.Background(), tx)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "busy" {
			t.Errorf("error %v", err)
		}
	})
}
