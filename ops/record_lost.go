package ops

import (
	"path/filepath"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/limactl"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// recordLost returns an error if the record of the box is lost: there is none, but a VM or a data disk of that name, and
// a record of its key. A VM or a disk without a record of a key is one that hermes-box did not make.
func (b *Box) recordLost() error {
	if b.Record != nil || b.RecordErr != nil {
		return nil
	}
	if _, err := keys.Read(b.Home, b.Name()); err != nil {
		return nil
	}
	what := ""
	switch vm, disk := b.Lima.Peek(b.Name()) != limactl.Absent, b.Lima.HasDisk(dataDisk(b.Name())); {
	case vm && disk:
		what = "its VM and its data disk are"
	case vm:
		what = "its VM is"
	case disk:
		what = "its data disk is"
	default:
		return nil
	}
	path := filepath.Join(b.Dir, "boxes", b.Name()+".json")
	return fault.New(fault.IntegrityFailed, "the record of box %q is lost, but %s still there: there is no file %s", b.Name(), what, path).
		Hint("put that file back from a copy; remove nothing before: the data of the box is on its data disk; to see what is there: ls -l %s",
			shellescape.Quote(b.Home.Lima()))
}

// dataDisk returns the name of the data disk of a box.
func dataDisk(box string) string { return box + "-data" }
