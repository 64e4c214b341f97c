package machine

import (
	"testing"
	"time"
)

func TestUnitPath(t *testing.T) {
	for unit, want := range map[string]string{"hermes.service": "hermes_2eservice", "hermes-box-recovery.service": "hermes_2dbox_2drecovery_2eservice",
		"1x": "_31x", "a1_b": "a1_5fb"} {
		if got := unitPath(unit); string(got) != "/org/freedesktop/systemd1/unit/"+want || !got.IsValid() {
			t.Errorf("%s: %s", unit, got)
		}
	}
}

func TestUnitProperties(t *testing.T) {
	var u Unit
	for _, value := range []any{"oom-kill", uint64(1796000000000000), uint32(2), true} {
		u.set(value)
	}
	if want := (Unit{Result: "oom-kill", Since: time.Unix(1796000000, 0), Restart: 2}); u != want {
		t.Errorf("%+v; want %+v", u, want)
	}
	u = Unit{}
	if u.set(uint64(0)); !u.Since.IsZero() {
		t.Errorf("a unit that was never active: Since is %v", u.Since)
	}
}
