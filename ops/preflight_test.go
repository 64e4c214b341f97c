package ops

import (
	"strings"
	"testing"

	"hermes-box/ops/config"
	"hermes-box/ops/store"
)

func TestASmallMachineIsAWarning(t *testing.T) {
	want := store.Machine{CPUs: 4, Memory: 8 << 30}
	for _, c := range []struct {
		have     resources
		verdict  Verdict
		says, do string
	}{
		{resources{4, 8 << 30}, Pass, "4 CPUs, 8.0 GiB free", ""},
		{resources{8, 0}, Pass, "8 CPUs", ""},
		{resources{2, 16 << 30}, Warn, "the config asks for 4 CPUs, this machine has 2", "set vm: {cpus: 2} in /c.yaml"},
		{resources{4, 3<<30 + 1}, Warn, "8.0 GiB of memory, 3.0 GiB are free", "set vm: {memory: 3GiB} in /c.yaml"},
		{resources{1, 1 << 20}, Warn, "; ", "set vm: {cpus: 1, memory: 1GiB} in /c.yaml"},
	} {
		got := c.have.enough(want, "/c.yaml")
		if got.Verdict != c.verdict || !strings.Contains(got.Evidence, c.says) || got.Repair != c.do {
			t.Errorf("%+v: %+v", c.have, got)
		}
	}
	// The real check of this machine: no machine has so many CPUs.
	b := &Box{Config: &config.Config{Path: "/c.yaml", VM: config.VM{CPUs: 1 << 20, Memory: 1 << 60}}}
	if c := b.checkMachine(t.Context()); c.Verdict != Warn || !strings.Contains(c.Evidence, "CPUs") || !strings.Contains(c.Evidence, "are free") {
		t.Errorf("%+v", c)
	}
}

// doctor checks the room on the disk of this machine, so that it warns before writes of the box fail.
func TestAFullDiskFails(t *testing.T) {
	for free, want := range map[int64]Verdict{0: Fail, 1<<30 - 1: Fail, 1 << 30: Warn, 5<<30 - 1: Warn, 5 << 30: Pass} {
		if c := roomToGrow("/home", free); c.Verdict != want || c.Verdict != Pass && c.Repair != "make room: df -h /home" {
			t.Errorf("%d free: %+v", free, c)
		}
	}
	b := &Box{Host: &Host{Dir: t.TempDir()}}
	for _, p := range b.hostProbes() {
		if p.id == "space" {
			if c := p.run(t.Context()); c.Verdict == Unknown || !strings.Contains(c.Evidence, " free") {
				t.Errorf("%+v", c)
			}
			return
		}
	}
	t.Error("doctor does not check the disk")
}
