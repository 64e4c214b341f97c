package guest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"hermes-box/guest/protocol"
)

// killed is what a crash test panics with, in place of the helper's death.
type killed struct{ step string }

// until runs do and kills it after its nth durable step, counted from 0. It tells the step, or "" if do came to
// its end before.
func (b *box) until(n int, do func()) (step string) {
	defer func() {
		b.After = nil
		if r := recover(); r != nil {
			k, ok := r.(killed)
			if !ok {
				panic(r)
			}
			step = k.step
		}
	}()
	b.After = func(s string) {
		if n == 0 {
			panic(killed{s})
		}
		n--
	}
	do()
	return ""
}

// reboot is a power cut and the boot after it: the recovery unit, then the services.
func (b *box) reboot(t *testing.T) {
	t.Helper()
	must(t, b.sys.Reboot())
	must(t, os.WriteFile(b.Path("/proc/sys/kernel/random/boot_id"), []byte("boot-2\n"), 0o644))
	n := len(b.sys.Did())
	_, err := b.Recover(context.Background())
	must(t, err)
	for _, did := range b.sys.Did()[n:] {
		// systemd waits for recovery before it starts them: to touch one here would be a deadlock.
		if did == "restart hermes.service" || did == "restart executor.service" {
			t.Errorf("recovery at boot: %s", did)
		}
	}
	must(t, b.sys.StartEnabled(context.Background()))
}

// prefix checks that the components before some point are of the new generation and those after it of the old.
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

// Killed after any durable step of an apply, the next boot and the next apply each find a whole box.
func TestKilledAnywhereInApply(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old      int
		start    func(testing.TB) *box
		affected []string // uv has a dependent, hermes a service, executor an image: together they have every kind of step
	}{
		{"update", 1, newFirst, []string{"node", "uv", "hermes", "executor"}},
		{"first", 0, newBox, []string{"uv", "hermes", "executor"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tx, o := transaction(2, tt.affected...)
			start := tt.start(t)
			start.send(o)
			apply := func(b *box) func() {
				return func() {
					if _, err := b.Apply(context.Background(), tx); err != nil {
						b.t.Fatal(err)
					}
				}
			}
			for n := 0; ; n++ {
				crashed := start.copyBox(t)
				step := crashed.until(n, apply(crashed))
				if step == "" {
					if n < 20*len(tt.affected) {
						t.Fatalf("only %d durable steps: the test has lost its hook", n)
					}
					t.Logf("killed after each of %d steps", n)
					return
				}
				t.Run(fmt.Sprintf("%03d %s", n, step), func(t *testing.T) {
					for how, recover := range map[string]func(*box){
						"reboot": func(b *box) { b.reboot(t) },
						"again": func(b *box) {
							_, err := b.Recover(context.Background())
							must(t, err)
						},
					} {
						b := crashed.copyBox(t)
						recover(b)
						b.consistent(t)
						b.prefix(t, tt.old, 2, tt.affected)
						r, err := b.Recover(context.Background())
						if err != nil || r.Action != "none" {
							t.Errorf("%s: recovered twice: %+v, %v", how, r, err)
						}
						if n%7 != 0 { // an apply is slow, and what it starts from was checked
							continue
						}
						b.send(o)
						apply(b)()
						b.consistent(t)
						b.prefix(t, 2, 2, tt.affected)
					}
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// Recovery itself may be killed, anywhere, and is then recovered from.
func TestKilledAnywhereInRecover(t *testing.T) {
	tx, o := transaction(2, "executor")
	start := newFirst(t)
	start.send(o)
	runs := 0
	for n := 0; ; n++ {
		crashed := start.copyBox(t)
		step := crashed.until(n, func() { crashed.Apply(context.Background(), tx) })
		if step == "" {
			break
		}
		for m := 0; ; m++ {
			b := crashed.copyBox(t)
			again := b.until(m, func() { b.Recover(context.Background()) })
			if _, err := b.Recover(context.Background()); err != nil {
				t.Fatalf("killed after %q, then after %q: %v", step, again, err)
			}
			b.consistent(t)
			if t.Failed() {
				t.Fatalf("killed after %q, then after %q", step, again)
			}
			runs++
			if again == "" {
				break
			}
		}
	}
	if runs < 60 {
		t.Errorf("only %d runs", runs)
	}
}

func TestRecoverSaysWhatItDid(t *testing.T) {
	for step, action := range map[string]string{
		"stage claude":             "undone",
		"link claude.new":          "undone",
		"rename to applied.json":   "finished",
		"rename to applied.lock":   "finished",
		"rename to hermes-box-box": "",
	} {
		b := newFirst(t)
		tx, o := transaction(2, "claude")
		b.send(o)
		hit := false
		b.After = func(s string) {
			if s == step {
				hit = true
				panic(killed{s})
			}
		}
		func() {
			defer func() { recover() }()
			b.Apply(context.Background(), tx)
		}()
		b.After = nil
		if hit != (action != "") {
			t.Errorf("the step %q: hit %v", step, hit)
		}
		if !hit {
			continue
		}
		r, err := b.Recover(context.Background())
		if err != nil || r.Action != action || r.Detail == "" {
			t.Errorf("killed after %q: %+v, %v", step, r, err)
		}
	}
	b := newBox(t)
	if r, err := b.Recover(context.Background()); err != nil || (r != protocol.Recovered{Action: "none"}) {
		t.Errorf("nothing to do: %+v, %v", r, err)
	}
}
