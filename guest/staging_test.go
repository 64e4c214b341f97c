package guest_test

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hermes-box/guest/protocol"
)

// until waits for an event with this component, phase and state.
func (b *box) until(t *testing.T, component, phase, state string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		b.mu.Lock()
		seen := slices.ContainsFunc(b.events, func(e protocol.Event) bool {
			return e.Component == component && e.Phase == phase && e.State == state
		})
		b.mu.Unlock()
		if seen {
			return
		}
	}
	t.Errorf("never saw %s %s %s", component, phase, state)
}

// parts sends the objects of one component at a time.
type parts struct {
	w *tar.Writer
	o objects
}

func (p parts) send(t *testing.T, c protocol.Component) {
	t.Helper()
	for name, data := range p.o {
		sum := "sha256:" + filepath.Base(name)
		if slices.Contains(c.Objects(), sum) {
			must(t, p.w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}))
			_, err := p.w.Write(data)
			must(t, err)
		}
	}
	must(t, p.w.Flush())
}

// A component is installed before the objects of the next one are sent.
func TestInstalledAsObjectsArrive(t *testing.T) {
	b := newBox(t)
	tx, o := transaction(1)
	tx.Arriving = true
	r, w := io.Pipe()
	received, applied := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := b.Objects().Receive(context.Background(), r)
		received <- err
	}()
	go func() {
		_, err := b.Apply(context.Background(), tx)
		applied <- err
	}()
	host := parts{tar.NewWriter(w), o}
	for _, c := range tx.Components {
		b.until(t, c.Name, protocol.PhaseUpload, protocol.Started)
		host.send(t, c)
		b.until(t, c.Name, protocol.PhaseHealth, protocol.Done)
	}
	must(t, host.w.Close())
	must(t, w.Close())
	must(t, <-received)
	must(t, <-applied)
	b.wantGeneration(t, 1, nil)
}

// An apply that succeeds removes all objects at its end. Before that it waits, but not forever, until a receive in
// progress has ended, even if it needs none of the objects.
func TestEndWaitsForAReceive(t *testing.T) {
	b := newFirst(t)
	tx, _ := transaction(1)
	tx.Arriving = true
	_, o := transaction(2, "claude")
	stream := o.tar().Bytes()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		received, applied := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := b.Objects().Receive(t.Context(), r)
			r.CloseWithError(err)
			received <- err
		}()
		_, err := w.Write(stream[:600]) // into the middle of the object
		must(t, err)
		synctest.Wait()
		go func() {
			_, err := b.Apply(t.Context(), tx)
			applied <- err
		}()
		synctest.Wait()
		if _, err := w.Write(stream[600:]); err != nil {
			t.Errorf("the receive has ended: %v", err)
		}
		w.Close()
		if err := <-received; err != nil {
			t.Errorf("the receive: %v", err)
		}
		must(t, <-applied)
	})
	if left, err := b.Objects().Digests(); len(left) != 0 || err != nil {
		t.Errorf("objects left: %v, %v", left, err)
	}
}

// An apply does not wait forever for a receive that hangs, and does not fail because of it.
func TestApplyDoesNotWaitForAHangingReceive(t *testing.T) {
	b := newFirst(t)
	tx, _ := transaction(1)
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		received := make(chan error, 1)
		go func() {
			_, err := b.Objects().Receive(t.Context(), r)
			received <- err
		}()
		synctest.Wait()
		if _, err := b.Apply(t.Context(), tx); err != nil {
			t.Error(err)
		}
		w.Close()
		must(t, <-received)
	})
	b.consistent(t)
}

// Objects received for the next transaction are still there after the interrupted one was recovered.
func TestRecoveryKeepsWhatIsReceived(t *testing.T) {
	b := newFirst(t)
	must(t, b.apply(2, "codex"))
	var left *box
	b.After = func(step string) {
		if step == "rename to applied.lock" {
			left = b.copyBox(t)
		}
	}
	must(t, b.apply(1, "claude", "codex"))
	tx, o := transaction(2, "claude", "node")
	left.send(o)
	if _, err := left.Apply(t.Context(), tx); err != nil {
		t.Error(err)
	}
	left.consistent(t)
	if v := left.versions(); v["claude"] != "2.1.2" || v["node"] != "24.17.2" {
		t.Errorf("applied: %v", v)
	}
}

// An apply does not wait forever for an object that never arrives. The error names it.
func TestObjectThatNeverArrives(t *testing.T) {
	b := newBox(t)
	tx, o := transaction(1, "node", "claude")
	for _, digest := range tx.Components[1].Objects() {
		delete(o, "sha256/"+strings.TrimPrefix(digest, "sha256:"))
	}
	b.send(o)
	tx.Arriving = true
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := b.Apply(t.Context(), tx)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "integrity_failed" || e.Component != "claude" || !strings.Contains(e.Message, "claude.tgz") {
			t.Errorf("error %+v", err)
		}
		if waited := time.Since(begun); waited > time.Minute {
			t.Errorf("waited %v", waited)
		}
	})
	b.consistent(t)
	if v := b.versions(); v["node"] == "" || v["claude"] != "" {
		t.Errorf("applied: %v", v)
	}
}

// After a kill while later components are staged, recovery removes what was staged.
func TestKilledWhileStagingAhead(t *testing.T) {
	b := newFirst(t)
	tx, o := transaction(2)
	b.send(o)
	var left *box
	b.After = func(step string) {
		if step == "stage node" {
			for _, c := range []string{"claude", "codex", "executor"} {
				b.until(t, c, protocol.PhaseStage, protocol.Done)
			}
			left = b.copyBox(t)
		}
	}
	_, err := b.Apply(context.Background(), tx)
	must(t, err)
	if staged, _ := filepath.Glob(left.Path("/opt/hermes-box/*/*/.staging-*")); len(staged) < 3 {
		t.Fatalf("only %v was staged ahead", staged)
	}
	left.reboot(t)
	left.consistent(t)
	left.prefix(t, 1, 2, order)
	if v := left.versions(); v["node"] != "24.17.1" {
		t.Errorf("applied: %v", v)
	}
}

// After a failure, what was staged for later components is removed.
func TestFailureDropsWhatIsStagedAhead(t *testing.T) {
	b := newFirst(t)
	before := b.tree()
	tx, o := transaction(2)
	tx.Components[0].Version = "24.18.0" // not the version of its artifacts
	b.send(o)
	b.After = func(step string) {
		if step == "stage node" {
			for _, c := range []string{"claude", "codex", "executor"} {
				b.until(t, c, protocol.PhaseStage, protocol.Done)
			}
		}
	}
	if _, err := b.Apply(context.Background(), tx); err == nil {
		t.Fatal("no error")
	}
	b.consistent(t)
	for path := range b.tree() {
		if _, ok := before[path]; !ok {
			t.Errorf("left: %s", path)
		}
	}
}
