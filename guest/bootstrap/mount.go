package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

const fstabFile = "/etc/fstab"

// fstab returns the managed block of /etc/fstab. With nofail the machine accepts logins by ssh even without the data
// disk; the units that need the disk have RequiresMountsFor=. mapped is the device-mapper device of the disk;
// layout.DataUnit makes this device at boot. mapped is empty if the file system is mounted directly, by its UUID.
func fstab(uuid, mapped string) string {
	const late = "nofail,x-systemd.requires-mounts-for=" + protocol.DataDir
	what, needs := "UUID="+uuid, ""
	if mapped != "" {
		what, needs = mapped, ",x-systemd.requires="+layout.DataUnit
	}
	table := fmt.Sprintf("%s %s ext4 noatime,nofail,x-systemd.device-timeout=60s%s 0 2\n", what, protocol.DataDir, needs)
	for _, b := range binds {
		table += fmt.Sprintf("%s %s none bind,%s 0 0\n", b.from, b.at, late)
	}
	return table
}

// mount mounts the data disk at /data and then, unless the host asked for the data disk only, the home and the
// workspace from there. systemd reads the new fstab in the units phase.
func (b *run) mount(ctx context.Context) (bool, error) {
	mapped, err := b.Machine.MapData(ctx, b.ask.DataDevice)
	if err != nil { // the box works, but each backup has to freeze the disk
		b.Emit(protocol.Event{Line: "the data disk cannot have snapshots: " + err.Error()})
		mapped = ""
	}
	changed, err := b.writeFstab(fstab(b.out.DataUUID, mapped))
	if err != nil {
		return false, err
	}
	mounted, err := b.mountAt(ctx, protocol.DataDir)
	if err != nil {
		return false, err
	}
	changed = changed || mounted
	got, err := b.Machine.MountedUUID(ctx, b.Path(protocol.DataDir))
	if err != nil {
		return false, err
	}
	if got != b.out.DataUUID {
		return false, wrongDisk("filesystem %q is mounted at %s instead of %s", got, protocol.DataDir, b.out.DataUUID)
	}
	if err := b.recordUUID(); err != nil || b.ask.DataOnly {
		return changed, err
	}
	made, err := b.skeleton(ctx)
	if err != nil {
		return false, err
	}
	changed = changed || made
	for _, to := range binds {
		mounted, err := b.mountAt(ctx, to.at)
		if err == nil {
			err = checkBind(ctx, b.Tree, b.Machine, to, b.out.DataUUID)
		}
		if err != nil {
			return false, err
		}
		changed = changed || mounted
	}
	return changed, nil
}

// writeFstab writes the managed block of fstab. Before a change it removes the record of a complete bootstrap, like the
// files phase, so that the units phase is not skipped.
func (b *run) writeFstab(block string) (bool, error) {
	table, err := b.withBlock(fstabFile, block)
	if err != nil || b.same(fstabFile, table, 0o644) {
		return false, err
	}
	if err := b.Remove(b.Path(layout.Bootstrapped)); err != nil {
		return false, err
	}
	return b.install(fstabFile, table, 0o644)
}

// mountAt mounts a path as fstab says, unless something is mounted there. The caller checks that the right file
// system is mounted.
func (b *run) mountAt(ctx context.Context, at string) (bool, error) {
	path := b.Path(at)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return false, err
	}
	if got, err := b.Machine.MountedUUID(ctx, path); err != nil || got != "" {
		return false, err
	}
	if err := b.Machine.Mount(ctx, path); err != nil {
		return false, err
	}
	b.Did("mount " + at)
	return true, nil
}

// skeleton makes the directories of the data disk. In an existing home it makes only a missing workspace.
func (b *run) skeleton(ctx context.Context) (bool, error) {
	changed := false
	for _, d := range []durable.Dir{
		{Path: protocol.DataDir + "/home", Mode: 0o755},
		{Path: layout.ExecutorData, Mode: 0o700},
		{Path: layout.Secrets, Mode: 0o700},
		{Path: protocol.DataDir + "/cache", Mode: 0o755, UID: layout.AgentID},
	} {
		made, err := b.MakeDir(d, b.Machine)
		if err != nil {
			return false, err
		}
		changed = changed || made
	}
	if _, err := os.Lstat(b.Path(layout.AgentHome)); err == nil {
		return changed, b.workspace()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	// Make the home under another name, sync it and rename it, so that it is either complete or does not exist.
	beside := b.Path(layout.AgentHome + ".new")
	if err := b.RemoveAll(beside); err != nil {
		return false, err
	}
	if err := b.makeHome(beside); err != nil {
		return false, err
	}
	if err := b.Machine.Sync(ctx); err != nil {
		return false, err
	}
	if err := b.Rename(beside, b.Path(layout.AgentHome)); err != nil {
		return false, err
	}
	return true, b.workspace()
}

// makeHome fills a new home from /etc/skel.
func (b *run) makeHome(home string) error {
	if err := os.Mkdir(home, 0o750); err != nil {
		return err
	}
	skel := b.Path("/etc/skel")
	if _, err := os.Stat(skel); err == nil {
		if err := os.CopyFS(home, os.DirFS(skel)); err != nil {
			return fmt.Errorf("copy /etc/skel: %w", err)
		}
	}
	return filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return b.Machine.Chown(path, layout.AgentID, layout.AgentID)
	})
}

// workspace makes the directory that is mounted at /workspace. A restored home may not have it.
func (b *run) workspace() error {
	_, err := b.MakeDir(durable.Dir{Path: layout.AgentHome + "/workspace", Mode: 0o755, UID: layout.AgentID}, b.Machine)
	return err
}
