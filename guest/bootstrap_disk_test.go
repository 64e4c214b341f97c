package guest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/simulate"
)

// Bootstrap of a fresh root disk with an existing data disk, as in a rebuild.
func TestBootstrapOldDisk(t *testing.T) {
	b := newRoot(t, machine.Disk{Size: diskSize, Type: "ext4", UUID: dataUUID})
	b.write("/data/home/agent/kept", "kept\n")
	ask := askFormat()
	ask.Format, ask.DataUUID = false, dataUUID
	out, err := b.Bootstrap(t.Context(), ask)
	must(t, err)
	if out.Formatted || len(b.formats()) != 0 || out.DataUUID != dataUUID || b.read("/home/agent/kept") != "kept\n" {
		t.Errorf("answer %+v, formats %v", out, b.formats())
	}
	if b.has("/home/agent/.bashrc") {
		t.Error("the skeleton was copied into an old home")
	}
}

func TestBootstrapRefusesDisk(t *testing.T) {
	const mine, other = dataUUID, "99999999-2222-4333-8444-555555555555"
	ext4 := func(id string) machine.Disk { return machine.Disk{Size: diskSize, Type: "ext4", UUID: id} }
	for _, c := range []struct {
		name     string
		disk     machine.Disk
		format   bool
		asked    string
		recorded string
		intended string
		want     string
	}{
		{name: "someone's filesystem", disk: ext4(other), format: true, want: "not blank: it holds ext4 " + other},
		{name: "a partition table", disk: machine.Disk{Size: diskSize, Type: "gpt partition table"}, format: true, want: "holds gpt partition table"},
		{name: "unknown data", disk: machine.Disk{Size: diskSize}, format: true, want: "holds unknown data"},
		{name: "blank, but formatting not requested", disk: blankDisk, want: "formatting was not requested"},
		{name: "another filesystem than requested", disk: ext4(other), asked: mine, want: "instead of filesystem " + mine},
		{name: "filesystem requested, but blank", disk: blankDisk, format: true, asked: mine, want: "holds nothing instead of filesystem " + mine},
		{name: "formatted before, now blank", disk: blankDisk, format: true, recorded: mine, want: "holds nothing instead of filesystem " + mine},
		{name: "formatted before, now another", disk: ext4(other), format: true, recorded: mine, want: "instead of filesystem " + mine},
		{name: "root and host differ", disk: ext4(mine), asked: mine, recorded: other, want: "this root belongs to filesystem " + other},
		{name: "requested UUID, but not ext4", disk: machine.Disk{Size: diskSize, Type: "xfs", UUID: mine}, asked: mine, want: "holds xfs"},
		{name: "formatting begun, but another filesystem", disk: ext4(other), format: true, intended: mine, want: "not blank"},
		{name: "formatting begun on a disk of another size", disk: machine.Disk{Size: diskSize / 2}, format: true, intended: mine, want: "unknown data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRoot(t, c.disk)
			if c.recorded != "" {
				b.write("/var/lib/hermes-box/data.uuid", c.recorded+"\n")
			}
			if c.intended != "" {
				b.write("/var/lib/hermes-box/format.json", fmt.Sprintf(`{"device":"/dev/vdb","size":%d,"uuid":%q}`, int64(diskSize), c.intended))
			}
			ask := askFormat()
			ask.Format, ask.DataUUID = c.format, c.asked
			_, err := b.Bootstrap(t.Context(), ask)
			if err == nil || !strings.Contains(err.Error(), c.want) || codeOf(err) != "integrity_failed" {
				t.Errorf("error %v (%s); want integrity_failed with %q", err, codeOf(err), c.want)
			}
			var e *protocol.Error
			if errors.As(err, &e) && !strings.Contains(e.Hint, "nothing was written") {
				t.Errorf("hint %q", e.Hint)
			}
			if len(b.formats()) != 0 || len(b.mounts()) != 0 {
				t.Errorf("formatted as %v, mounted at %v", b.formats(), b.mounts())
			}
		})
	}
}

// After a crash at any durable step, or in the middle of the formatting, the next run finishes, and the disk has one
// file system with one UUID.
func TestBootstrapCrash(t *testing.T) {
	var steps int
	b := newRoot(t, blankDisk)
	b.After = func(string) { steps++ }
	_, err := b.Bootstrap(t.Context(), askFormat())
	must(t, err)
	if steps < 15 {
		t.Fatalf("only %d durable steps", steps)
	}
	again := 0
	for n := 1; n <= steps; n++ {
		b := newRoot(t, blankDisk)
		left, at := n, ""
		b.After = func(step string) {
			if left--; left == 0 {
				at = step
				runtime.Goexit()
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = b.Bootstrap(t.Context(), askFormat())
		}()
		<-done
		open := !b.has("/var/lib/hermes-box/data.uuid")
		if open && len(b.mounts()) != 0 {
			t.Errorf("mounted at %v before the formatting has ended (%s)", b.mounts(), at)
		}
		next := openBox(t, b.Root)
		out, err := next.Bootstrap(t.Context(), askFormat())
		if err != nil {
			t.Errorf("after a crash at step %d (%s): %v", n, at, err)
			continue
		}
		// After a power cut the file system may be incomplete, so it is made again with the same UUID, but never after
		// the UUID was recorded.
		formats := append(b.formats(), next.formats()...)
		if len(formats) == 2 && open && formats[0] == formats[1] {
			again++
			formats = formats[:1]
		}
		if !slices.Equal(formats, []string{out.DataUUID}) {
			t.Errorf("after a crash at step %d (%s): formatted as %v, answered %s", n, at, formats, out.DataUUID)
		}
		if next.has("/var/lib/hermes-box/format.json") {
			t.Errorf("after a crash at step %d (%s): the record of the formatting stays", n, at)
		}
	}
	if again == 0 {
		t.Error("an incomplete file system was accepted after a crash")
	}

	b = newRoot(t, blankDisk)
	b.failAt("formatted /dev/vdb")
	if _, err := b.Bootstrap(t.Context(), askFormat()); err == nil {
		t.Fatal("no error from a failing format")
	}
	if d, err := b.sys.Disk(t.Context(), "/dev/vdb"); err != nil || d != (machine.Disk{Size: diskSize}) {
		t.Fatalf("the interrupted format left %+v, %v", d, err)
	}
	b.sys.Fail = nil
	out, err := b.Bootstrap(t.Context(), askFormat())
	if err != nil || !out.Formatted || !slices.Equal(b.formats(), []string{out.DataUUID, out.DataUUID}) {
		t.Errorf("after an interrupted format: %+v, %v, formats %v", out, err, b.formats())
	}
}

// misformats is a machine that formats disks with the wrong UUID.
type misformats struct{ *simulate.Machine }

func (m misformats) Format(ctx context.Context, device, _, label string) error {
	return m.Machine.Format(ctx, device, "99999999-2222-4333-8444-555555555555", label)
}

// The error for a wrong result of formatting does not claim that nothing was written to the disk.
func TestBootstrapMisformatted(t *testing.T) {
	b := newRoot(t, blankDisk)
	b.Machine = misformats{b.sys}
	_, err := b.Bootstrap(t.Context(), askFormat())
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != "integrity_failed" || !strings.Contains(e.Hint, "was written to") || strings.Contains(e.Hint, "nothing") {
		t.Errorf("%+v", err)
	}
}

// If another directory is mounted at /workspace, the bootstrap fails.
func TestBootstrapRefusesAnotherMount(t *testing.T) {
	for _, uuid := range []string{dataUUID, "99999999-2222-4333-8444-555555555555"} {
		b := newRoot(t, machine.Disk{Size: diskSize, Type: "ext4", UUID: dataUUID})
		must(t, b.sys.SetMount("/workspace", uuid)) // another directory of the same disk, or another disk
		ask := askFormat()
		ask.Format, ask.DataUUID = false, dataUUID
		_, err := b.Bootstrap(t.Context(), ask)
		if codeOf(err) != "integrity_failed" || !strings.Contains(err.Error(), "the directory mounted at /workspace is not /data/home/agent/workspace") {
			t.Errorf("%s: %v", uuid, err)
		}
		if b.has("/var/lib/hermes-box/bootstrap.json") {
			t.Errorf("%s: the bootstrap is recorded as complete", uuid)
		}
	}
}
