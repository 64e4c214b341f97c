package guest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// killed is a copy of a machine whose helper was killed right after a durable step.
type killed struct {
	step string
	*box
}

// killedAnywhere calls do and returns a copy of the machine after each durable step, as a kill at that moment would leave
// it. A copy is enough, because the engine has all its state on the disk.
func (b *box) killedAnywhere(t testing.TB, do func()) (copies []killed) {
	var mu sync.Mutex // releases are staged in goroutines
	b.After = func(step string) {
		mu.Lock()
		defer mu.Unlock()
		copies = append(copies, killed{step, b.copyBox(t)})
	}
	do()
	b.After = nil
	return copies
}

// reboot simulates a power cut and the next boot: the recovery unit, then the services.
func (b *box) reboot(t *testing.T) {
	t.Helper()
	must(t, b.sys.Reboot())
	must(t, os.WriteFile(b.Path("/proc/sys/kernel/random/boot_id"), []byte("boot-2\n"), 0o644))
	n := len(b.sys.Did())
	_, err := b.Recover(context.Background())
	must(t, err)
	for _, did := range b.sys.Did()[n:] {
		// systemd starts the services after the recovery unit. Starting a service from within the recovery unit would
		// be a deadlock.
		if did == "restart hermes.service" || did == "restart executor.service" {
			t.Errorf("recovery at boot: %s", did)
		}
	}
	must(t, b.sys.StartEnabled(context.Background()))
}

// prefix checks that no component in names is of the new generation if one before it is still of the old generation.
// Unless all are of the new generation, the applied lock must be the old one.
func (b *box) prefix(t *testing.T, old, new int, names []string) {
	t.Helper()
	v := b.versions()
	changed := true
	for _, name := range names {
		got := v[name]
		isNew := got != "" && got[len(got)-1:] == fmt.Sprint(new)
		isOld := old == 0 && got == "" || old != 0 && got != "" && got[len(got)-1:] == fmt.Sprint(old)
		if !isNew && !isOld || isNew && !changed {
			t.Errorf("%s is %q: %v", name, got, v)
		}
		changed = changed && isNew
	}
	lock, err := b.AppliedLock()
	must(t, err)
	if changed || lock == fmt.Sprintf("lock %d\n", old) || old == 0 && lock == "" {
		return
	}
	t.Errorf("the lock is %q before all is applied", lock)
}

// After a kill at any durable step of an apply, the next boot makes the box consistent, and so does a recovery
// without a reboot. After such a recovery the apply can be repeated.
func TestKilledAnywhereInApply(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old      int
		start    func(testing.TB) *box
		affected []string // uv has a dependent, hermes a service, executor an image: together they cover every kind of step
	}{
		{"update", 1, newFirst, []string{"node", "uv", "hermes", "executor"}},
		{"first", 0, newBox, []string{"uv", "hermes", "executor"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tx, o := transaction(2, tt.affected...)
			start := tt.start(t)
			start.send(o)
			apply := func(b *box) {
				_, err := b.Apply(context.Background(), tx)
				must(t, err)
			}
			copies := start.killedAnywhere(t, func() { apply(start) })
			if len(copies) < 20*len(tt.affected) {
				t.Fatalf("only %d durable steps", len(copies))
			}
			t.Logf("killed after each of %d steps", len(copies))
			for n, k := range copies {
				t.Run(fmt.Sprintf("%03d %s", n, k.step), func(t *testing.T) {
					rebooted := k.copyBox(t)
					rebooted.reboot(t)
					_, err := k.Recover(context.Background())
					must(t, err)
					for _, b := range []*box{rebooted, k.box} {
						b.consistent(t)
						b.prefix(t, tt.old, 2, tt.affected)
						r, err := b.Recover(context.Background())
						if err != nil || r.Action != "none" {
							t.Errorf("recovered twice: %+v, %v", r, err)
						}
					}
					if n%5 != 0 { // an apply is slow, and the state that it starts from was checked above
						return
					}
					k.send(o)
					apply(k.box)
					k.consistent(t)
					k.prefix(t, 2, 2, tt.affected)
				})
			}
		})
	}
}

// The journal that says committing may reach the disk although its write failed, for example when the directory cannot
// be synced. The engine then writes the journal of the step before, and only after that undoes the change. So recovery
// after a kill does not finish a change that is half undone. If the second write fails too, nothing is undone.
func TestKilledAfterAnUncertainCommit(t *testing.T) {
	tx, o := transaction(2, "executor")
	for _, failures := range []int{1, 2} {
		start := newFirst(t)
		start.send(o)
		var copies []killed
		journal, hits := start.Path("/var/lib/hermes-box/journal.json"), 0
		start.After = func(step string) {
			if hits > 0 {
				copies = append(copies, killed{step, start.copyBox(t)})
			}
			text, err := os.ReadFile(journal + ".new")
			if step != "write journal.json.new" || err != nil || hits == failures || hits == 0 && !strings.Contains(string(text), `"committing"`) {
				return
			}
			// The first write reaches the disk and fails after the rename; the second one does not reach the disk.
			if hits++; hits == 1 {
				must(t, os.Rename(journal+".new", journal))
			} else {
				must(t, os.Remove(journal+".new"))
			}
			copies = append(copies, killed{step, start.copyBox(t)})
		}
		_, err := start.Apply(context.Background(), tx)
		if start.After = nil; err == nil || hits != failures {
			t.Fatalf("%d failures: %v, %d hits", failures, err, hits)
		}
		if failures == 1 && len(copies) < 5 {
			t.Errorf("only %d steps of undoing", len(copies))
		}
		for _, k := range append(copies, killed{"the end", start}) {
			_, err := k.Recover(context.Background())
			if k.consistent(t); t.Failed() || err != nil {
				t.Fatalf("%d failures, killed after %q: %v", failures, k.step, err)
			}
		}
	}
}

// Recovery can be killed at any step and run again.
func TestKilledAnywhereInRecover(t *testing.T) {
	tx, o := transaction(2, "executor")
	start := newFirst(t)
	start.send(o)
	runs := 0
	for _, k := range start.killedAnywhere(t, func() { start.Apply(context.Background(), tx) }) {
		for _, again := range k.killedAnywhere(t, func() { k.Recover(context.Background()) }) {
			_, err := again.Recover(context.Background())
			if again.consistent(t); t.Failed() || err != nil {
				t.Fatalf("killed after %q, then after %q: %v", k.step, again.step, err)
			}
			runs++
		}
	}
	if runs < 60 {
		t.Errorf("only %d runs", runs)
	}
}

// The recovery unit may also run in the same boot as the crash. It starts no services, since they wait for it.
func TestRecoveryUnitStartsNothing(t *testing.T) {
	b := newFirst(t)
	tx, o := transaction(2, "executor")
	b.send(o)
	for _, k := range b.killedAnywhere(t, func() { b.Apply(context.Background(), tx) }) {
		if k.step != "restart executor.service" {
			continue
		}
		must(t, k.sys.Break("hermes-box-recovery.service", machine.Unit{Active: "activating"}))
		r, err := k.Recover(context.Background())
		if err != nil || r.Action != "undone" {
			t.Errorf("%+v, %v", r, err)
		}
		if did := k.sys.Did(); !slices.Contains(did, "stop executor.service") || slices.Contains(did, "restart executor.service") {
			t.Errorf("effects: %v", did)
		}
		return
	}
	t.Error("the service was never restarted")
}

func TestRecoverSaysWhatItDid(t *testing.T) {
	want := map[string]string{
		"stage claude":           "undone",
		"link claude":            "undone",
		"rename to applied.json": "finished",
		"rename to applied.lock": "finished",
	}
	b := newFirst(t)
	tx, o := transaction(2, "claude")
	b.send(o)
	for _, k := range b.killedAnywhere(t, func() { b.Apply(context.Background(), tx) }) {
		action, ok := want[k.step]
		if !ok {
			continue
		}
		delete(want, k.step)
		r, err := k.Recover(context.Background())
		if err != nil || r.Action != action || r.Detail == "" {
			t.Errorf("killed after %q: %+v, %v", k.step, r, err)
		}
	}
	if len(want) != 0 {
		t.Errorf("no kill after the steps %v", want)
	}
	b = newBox(t)
	if r, err := b.Recover(context.Background()); err != nil || (r != protocol.Recovered{Action: "none"}) {
		t.Errorf("recovery of a box without an interrupted change: %+v, %v", r, err)
	}
}
