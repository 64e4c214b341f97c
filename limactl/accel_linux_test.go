package limactl

import (
	"errors"
	"os"
	"testing"
)

func TestAcceleration(t *testing.T) {
	a := Acceleration()
	t.Logf("this machine: %+v", a)
	if a.Slow() != (a.Reason != "") {
		t.Errorf("%+v", a)
	}
	if err := tryKVM(os.DevNull); err == nil {
		t.Error("/dev/null was accepted as a KVM device")
	}
	if err := tryKVM("/no/such/device"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing device: %v", err)
	}
}

// KVM does not count as usable if it creates a processor that qemu cannot set up.
func TestTryQEMU(t *testing.T) {
	if err := tryQEMU("no-such-qemu"); err != nil {
		t.Errorf("without qemu: %v", err)
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	script := "#!/bin/sh\necho 'qemu-test: failed to set MSR 0x10a' >&2\nexit 1\n"
	if err := os.WriteFile(bin+"/qemu-test", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tryQEMU("qemu-test"); err == nil || err.Error() != "qemu cannot set up a processor: exit status 1: failed to set MSR 0x10a" {
		t.Errorf("got %v", err)
	}
}
