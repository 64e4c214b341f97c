package ops

import (
	"strings"
	"testing"

	"hermes-box/ops/config"
	"hermes-box/ops/store"
)

func TestASmallMachineIsToldAndNotRefused(t *testing.T) {
	want := store.Machine{CPUs: 4, Memory: 8 << 30}
	for _, c := range []struct {
		have     resources
		verdict  Verdict
		says, do string
	}{
		{resources{4, 8 << 30}, Pass, "4 CPUs, 8.0 GiB free", ""},
		{resources{8, 0}, Pass, "8 CPUs", ""},
		{resources{2, 16 << 30}, Warn, "the box is to have 4 CPUs, this machine has 2", "vm: {cpus: 2} in /c.yaml"},
		{resources{4, 3<<30 + 1}, Warn, "8.0 GiB of memory, 3.0 GiB are free", "vm: {memory: 3GiB} in /c.yaml"},
		{resources{1, 1 << 20}, Warn, "; ", "vm: {cpus: 1, memory: 1GiB} in /c.yaml"},
	} {
		got := c.have.enough(want, "/c.yaml")
		if got.Verdict != c.verdict || !strings.Contains(got.Evidence, c.says) || got.Repair != c.do {
			t.Errorf("%+v: %+v", c.have, got)
		}
	}
	// This machine is looked at for real: nothing has so many CPUs.
	b := &Box{Config: &config.Config{Path: "/c.yaml", VM: config.VM{CPUs: 1 << 20, Memory: 1 << 60}}}
	if c := b.checkMachine(t.Context()); c.Verdict != Warn || !strings.Contains(c.Evidence, "CPUs") || !strings.Contains(c.Evidence, "are free here") {
		t.Errorf("%+v", c)
	}
}
