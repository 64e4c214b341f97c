package bootstrap

import (
	"context"
	"crypto/rand"
	"fmt"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// dataLabel is the label of the data file system. It is for people only. An ext4 label has at most 16 bytes.
const dataLabel = "hbdata"

// formatting is the content of layout.Formatting. The file is written while the disk is still blank. So if a later run
// finds the file, an incomplete file system on the disk comes from the interrupted formatting.
type formatting struct {
	Device string `json:"device"`
	Size   int64  `json:"size"`
	UUID   string `json:"uuid"`
}

// disk checks that the data disk has the file system of this box. If no UUID is recorded or requested, and the host
// asks for formatting, disk formats the data disk. It does so only if the disk is blank (see machine.Disk), or if an
// earlier run was interrupted while it formatted the disk.
func (b *run) disk(ctx context.Context) (bool, error) {
	recorded, err := RecordedUUID(b.Tree)
	if err != nil {
		return false, err
	}
	want := b.ask.DataUUID
	if recorded != "" && want != "" && recorded != want {
		return false, refuseDisk("this root belongs to filesystem %s, but the host asked for %s", recorded, want)
	}
	if want == "" {
		want = recorded
	}
	intended := new(formatting)
	if err := durable.ReadJSON(b.Path(layout.Formatting), intended); err != nil {
		return false, err
	}
	d, err := b.Machine.Disk(ctx, b.ask.DataDevice)
	if err != nil {
		return false, err
	}
	mine := intended.UUID != "" && intended.Device == b.ask.DataDevice && intended.Size == d.Size
	switch {
	case d.Type == "ext4" && d.UUID != "" && d.UUID == want:
		b.out.DataUUID = want
		return false, nil
	case want != "":
		return false, refuseDisk("%s holds %s instead of filesystem %s", b.ask.DataDevice, content(d), want)
	case !b.ask.Format:
		return false, refuseDisk("%s holds %s, and formatting was not requested", b.ask.DataDevice, content(d))
	case d.Blank, mine && (d.Type == "" || d.Type == "ext4" && d.UUID == intended.UUID):
		// Format again even if the file system is there: after an interrupted run it may lack most of its tables.
		return true, b.format(ctx, d, intended, mine)
	default:
		return false, refuseDisk("%s is not blank: it holds %s", b.ask.DataDevice, content(d))
	}
}

// format makes the file system. After an interrupted run it uses the UUID that the interrupted run chose. The formatting
// ends when the UUID is recorded; before that nothing is mounted, so no data can be on the disk.
func (b *run) format(ctx context.Context, d machine.Disk, f *formatting, again bool) error {
	if !again {
		*f = formatting{Device: b.ask.DataDevice, Size: d.Size, UUID: newUUID()}
		if err := b.WriteJSON(b.Path(layout.Formatting), f); err != nil {
			return err
		}
	}
	if err := b.Machine.Format(ctx, f.Device, f.UUID, dataLabel); err != nil {
		return err
	}
	b.Did("format")
	made, err := b.Machine.Disk(ctx, f.Device)
	if err != nil {
		return err
	}
	if made.Type != "ext4" || made.UUID != f.UUID {
		return &protocol.Error{Code: "integrity_failed",
			Message: fmt.Sprintf("%s holds %s after it was formatted as %s", f.Device, content(made), f.UUID),
			Hint:    "the disk was written to, and may be failing: hermes-box doctor"}
	}
	b.out.DataUUID, b.out.Formatted = f.UUID, true
	return b.recordUUID()
}

// recordUUID records the UUID, which ends the formatting: after that no disk is formatted for this root.
func (b *run) recordUUID() error {
	recorded, err := RecordedUUID(b.Tree)
	if err != nil {
		return err
	}
	if recorded == "" {
		if err := b.Write(b.Path(layout.DataUUID), []byte(b.out.DataUUID+"\n"), 0o644); err != nil {
			return err
		}
	}
	return b.Remove(b.Path(layout.Formatting))
}

// refuseDisk returns the error for a data disk that cannot be used and was not written to.
func refuseDisk(format string, args ...any) error {
	return &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf(format, args...),
		Hint: "nothing was written to the disk; see what it is: hermes-box doctor"}
}

// content describes what is on a disk.
func content(d machine.Disk) string {
	switch {
	case d.Blank:
		return "nothing"
	case d.Type == "":
		return "unknown data"
	case d.UUID == "":
		return d.Type
	}
	return d.Type + " " + d.UUID
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
