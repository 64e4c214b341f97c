package machine

import (
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
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
	for name, value := range map[string]any{"ActiveState": "active", "SubState": "running", "Result": "oom-kill",
		"ActiveEnterTimestamp": uint64(1796000000000000), "NRestarts": uint32(2), "Job": []any{uint32(7), dbus.ObjectPath("/j")}, "Other": "x"} {
		u.set(name, value)
	}
	if want := (Unit{Active: "active", Sub: "running", Result: "oom-kill", Since: time.Unix(1796000000, 0), Restart: 2, Queued: true}); u != want {
		t.Errorf("%+v; want %+v", u, want)
	}
	u.set("ActiveEnterTimestamp", uint64(0))
	u.set("NRestarts", "not a number")
	if u.set("Job", []any{uint32(0), dbus.ObjectPath("/")}); u.Queued {
		t.Error("a unit without a job counts as one with a job")
	}
}
