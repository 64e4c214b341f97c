package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"al.essio.dev/pkg/shellescape"
	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// checkSpace compares the free space with what create needs: the missing downloads, a copy of the image that Lima
// makes, and room for what the guest installs, since the disks of the VM grow as they fill.
func (b *Box) checkSpace(context.Context) Check {
	if b.Lock == nil {
		return unknown(errNoLock, "")
	}
	all := append(imageArtifacts(b.Lock), softwareArtifacts(b.Lock)...)
	need := sum(all)
	if _, err := os.Stat(b.Home.Artifacts()); err == nil { // a check must not create it
		cache, err := b.openCache()
		if err != nil {
			return failed(err)
		}
		_, need = cache.Missing(all)
	}
	need += b.Lock.Image.Disk.Size + 3*sum(softwareArtifacts(b.Lock)) + 1<<30
	free, err := freeSpace(b.Dir)
	if err != nil {
		return unknown(err, "")
	}
	if free < need {
		return fail(fmt.Sprintf("%s has %s free, a box needs %s", b.Dir, size(free), size(need)),
			"make room, or set HERMES_BOX_HOME to a directory on a larger disk")
	}
	return pass(size(free) + " free")
}

// checkRoomToGrow is checkSpace for an existing box. Its disks grow on this machine as they fill, and without free
// space a write in the box fails.
func (b *Box) checkRoomToGrow(context.Context) Check {
	free, err := freeSpace(b.Dir)
	if err != nil {
		return unknown(err, "")
	}
	return roomToGrow(b.Dir, free)
}

func roomToGrow(dir string, free int64) Check {
	evidence, repair := fmt.Sprintf("%s has %s free", dir, size(free)), "make room: df -h "+shellescape.Quote(dir)
	switch {
	case free < 1<<30:
		return fail(evidence+": the disks of the box cannot grow", repair)
	case free < 5<<30:
		return warn(evidence, repair)
	}
	return pass(size(free) + " free")
}

// roomFor returns an error if the state directory has no room for so many bytes of a backup.
func (b *Box) roomFor(need int64) error {
	free, err := freeSpace(b.Dir)
	if err != nil {
		return err
	}
	if free-1<<30 < need {
		return fault.New(fault.PreflightFailed, "%s has %s free, the restore needs %s and 1 GiB to spare", b.Dir, size(free), size(need)).
			Hint("make room: df -h %s", shellescape.Quote(b.Dir))
	}
	return nil
}

// freeSpace returns how many bytes this user can write to the file system of dir, which need not exist yet.
func freeSpace(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(existing(dir), &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}

// existing returns dir, or the nearest directory above it that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func sum(all []lock.Artifact) (bytes int64) {
	for _, a := range all {
		bytes += a.Size
	}
	return bytes
}

// size formats a number of bytes: "340 MiB".
func size(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// diskFull adds a hint to the error of a full disk, unless it has one. The hint names the directory of the file that
// could not be written or, if the error names no file, dir.
func diskFull(err error, dir string) error {
	if !noSpace(err) || fault.HintOf(err) != "" {
		return err
	}
	return makeRoom(err, dir)
}

// noSpace reports whether the disk is full.
func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// makeRoom returns the error of a full disk with the hint of diskFull, which replaces any other hint.
func makeRoom(err error, dir string) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) && filepath.IsAbs(at.Path) {
		dir = existing(filepath.Dir(at.Path))
	}
	return fault.New(fault.ExternalFailed, "the disk is full: %w", err).
		Hint("free some space there and run the command again: df -h %s", shellescape.Quote(dir))
}
