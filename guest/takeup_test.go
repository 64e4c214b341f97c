package guest_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"
)

func TestTakeUpHermes(t *testing.T) {
	b := linkable(t) // the files of Hermes are newer than its start
	for i, want := range []bool{true, false} {
		n := len(b.sys.Did())
		done, err := b.Login().TakeUpHermes(t.Context())
		if err != nil || done.Restarted != want || slices.Contains(b.sys.Did()[n:], "restart hermes.service") != want {
			t.Errorf("%d: %+v, %v; did %v", i, done, err, b.sys.Did()[n:])
		}
	}
	b.write("data/home/agent/.hermes/auth.json", "{}")
	must(t, b.sys.StopUnit(t.Context(), "hermes.service"))
	if done, err := b.Login().TakeUpHermes(t.Context()); err != nil || done.Restarted {
		t.Errorf("a Hermes that was stopped: %+v, %v", done, err)
	}
	must(t, b.sys.StartUnit(t.Context(), "hermes.service"))
	b.write("data/home/agent/.hermes/auth.json", "{}")
	now := time.Now() // the kernel's time stamps may be some milliseconds behind
	must(t, os.Chtimes(b.Path("/data/home/agent/.hermes/auth.json"), now, now))
	b.sys.Fail = func(effect string) error {
		if effect == "restart hermes.service" {
			return errors.New("the job failed")
		}
		return nil
	}
	if _, err := b.Login().TakeUpHermes(t.Context()); err == nil || err.Error() != "hermes: restart: the job failed" {
		t.Errorf("%v", err)
	}
}
