package ops

import (
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops/config"
	"hermes-box/ops/fault"
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
	// Check the real machine against a config that no machine satisfies.
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

// roomFor returns an error for a backup that does not fit on the disk.
func TestRoomFor(t *testing.T) {
	b := &Box{Host: &Host{Dir: filepath.Join(t.TempDir(), "home")}}
	if err := b.roomFor(1 << 60); fault.CodeOf(err) != fault.PreflightFailed || fault.HintOf(err) == "" {
		t.Errorf("an exbibyte: %v", err)
	}
	free, err := freeSpace(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.roomFor(max(free/2-1<<30, 0)); err != nil && free > 3<<30 {
		t.Errorf("half of it: %v", err)
	}
}

func TestInstallLima(t *testing.T) {
	for version, want := range map[string]string{"": `install Lima: see README, "Lima"`, "2.1.3": `install Lima 2.1.3: see README, "Lima"`} {
		if got := installLima(version); got != want {
			t.Errorf("%q: %s", version, got)
		}
	}
}
