package guest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// dataLabel is the label of the data filesystem: for people, nothing looks for it. ext4 holds 16 bytes.
const dataLabel = "hbdata"

// formatting is the intention to format, recorded before the first byte is written. The disk was blank then, so
// that whoever finds the record with a half-made filesystem knows that nothing else was ever on it.
type formatting struct {
	Device string `json:"device"`
	Size   int64  `json:"size"`
	UUID   string `json:"uuid"`
}

// disk proves that the data disk holds the filesystem of this box, or formats it if it provably holds nothing
// and never held anything.
func (b *bootstrap) disk(ctx context.Context) (bool, error) {
	recorded, err := b.recordedUUID()
	if err != nil {
		return false, err
	}
	want := b.ask.DataUUID
	if recorded != "" && want != "" && recorded != want {
		return false, refuseDisk("this root belongs to filesystem %s, the host asks for %s", recorded, want)
	}
	if want == "" {
		want = recorded
	}
	intended := new(formatting)
	if err := getJSON(b.Path(formatFile), intended); err != nil {
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
		return false, refuseDisk("%s holds %s, and formatting was not asked for", b.ask.DataDevice, content(d))
	case d.Blank, mine && (d.Type == "" || d.Type == "ext4" && d.UUID == intended.UUID):
		// Of a run that ended in the formatting, what looks like the filesystem may lack most of its tables.
		return true, b.format(ctx, d, intended, mine)
	default:
		return false, refuseDisk("%s is not blank: it holds %s", b.ask.DataDevice, content(d))
	}
}

// format makes the filesystem. A run that was cut short in it is repeated with the UUID it had chosen: until the UUID
// is recorded, which ends it, nothing is mounted and nobody's data can be on the disk.
func (b *bootstrap) format(ctx context.Context, d machine.Disk, f *formatting, again bool) error {
	if !again {
		*f = formatting{Device: b.ask.DataDevice, Size: d.Size, UUID: newUUID()}
		if err := b.putJSON(b.Path(formatFile), f); err != nil {
			return err
		}
	}
	if err := b.Machine.Format(ctx, f.Device, f.UUID, dataLabel); err != nil {
		return err
	}
	b.did("format")
	made, err := b.Machine.Disk(ctx, f.Device)
	if err != nil {
		return err
	}
	if made.Type != "ext4" || made.UUID != f.UUID {
		return &protocol.Error{Code: "integrity_failed",
			Message: fmt.Sprintf("%s holds %s after formatting it as %s", f.Device, content(made), f.UUID),
			Hint:    "the disk was written to, and is of no use as it is; make the box anew: hermes-box create"}
	}
	b.out.DataUUID, b.out.Formatted = f.UUID, true
	return b.recordUUID()
}

// recordUUID ends the formatting: from now on no disk is formatted for this root.
func (b *bootstrap) recordUUID() error {
	recorded, err := b.recordedUUID()
	if err != nil {
		return err
	}
	if recorded == "" {
		if err := b.put(b.Path(uuidFile), []byte(b.out.DataUUID+"\n"), 0o644); err != nil {
			return err
		}
	}
	return b.remove(b.Path(formatFile))
}

// recordedUUID is the filesystem this root belongs to; empty before its first bootstrap.
func (g *Guest) recordedUUID() (string, error) {
	text, err := os.ReadFile(g.Path(uuidFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(text))
	if !uuid.MatchString(id) {
		return "", wrongDisk("%s is damaged: %q is not a UUID", uuidFile, id)
	}
	return id, nil
}

// CheckData refuses to go on unless the filesystem mounted at /data is the one this root belongs to, and the home
// and the workspace are the directories of it: what is written there otherwise is lost with the root disk.
func (g *Guest) CheckData(ctx context.Context) error {
	want, err := g.recordedUUID()
	if err != nil {
		return err
	}
	if want == "" {
		return &protocol.Error{Code: "preflight_failed", Message: "this machine has not been made into a box yet",
			Hint: "hermes-box create"}
	}
	got, err := g.Machine.MountedUUID(ctx, g.Path(protocol.DataDir))
	switch {
	case err != nil:
		return err
	case got == "":
		return wrongDisk("nothing is mounted at %s; it should be filesystem %s", protocol.DataDir, want)
	case got != want:
		return wrongDisk("filesystem %s is mounted at %s instead of %s", got, protocol.DataDir, want)
	}
	for _, to := range binds {
		if err := g.checkBind(ctx, to, want); err != nil {
			return err
		}
	}
	return nil
}

func wrongDisk(format string, args ...any) error {
	return &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf(format, args...),
		Hint: "see what is mounted: hermes-box doctor"}
}

// refuseDisk is of a disk that was looked at and nothing else.
func refuseDisk(format string, args ...any) error {
	return &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf(format, args...),
		Hint: "nothing was written to the disk; see what it is: hermes-box doctor"}
}

// content is what is on a disk, in words.
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

// newUUID is a random UUID, version 4.
func newUUID() string {
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
