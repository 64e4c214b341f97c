package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hermes-box/guest/protocol"
)

const fstabFile = "/etc/fstab"

// bind is a directory of the data disk that is also mounted at a place of its own.
type bind struct{ from, at string }

var binds = []bind{{agentHome, loginHome}, {agentHome + "/workspace", workspaceDir}}

// checkBind refuses unless the directory is mounted where it belongs. It needs no privilege.
func (g *Guest) checkBind(ctx context.Context, b bind, uuid string) error {
	got, err := g.Machine.MountedUUID(ctx, g.Path(b.at))
	if err != nil {
		return err
	}
	if got == "" {
		return wrongDisk("nothing is mounted at %s; it should be %s", b.at, b.from)
	}
	from, err := os.Stat(g.Path(b.from))
	if err != nil {
		return err
	}
	at, err := os.Stat(g.Path(b.at))
	if err != nil {
		return err
	}
	if got != uuid || !os.SameFile(from, at) {
		return wrongDisk("what is mounted at %s is not %s", b.at, b.from)
	}
	return nil
}

// fstab is the block of /etc/fstab. nofail: with no data disk the machine still comes up to ssh, and what needs
// the disk says so through RequiresMountsFor=.
func fstab(uuid string) string {
	const late = "nofail,x-systemd.requires-mounts-for=" + protocol.DataDir
	table := fmt.Sprintf("UUID=%s %s ext4 noatime,nofail,x-systemd.device-timeout=30s 0 2\n", uuid, protocol.DataDir)
	for _, b := range binds {
		table += fmt.Sprintf("%s %s none bind,%s 0 0\n", b.from, b.at, late)
	}
	return table
}

// mount puts the data disk in its place: by UUID at /data, and from there the home and the workspace. systemd
// learns of the table in the phase of the units.
func (b *bootstrap) mount(ctx context.Context) (bool, error) {
	changed, err := b.manage(fstabFile, fstab(b.out.DataUUID))
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
	if err := b.recordUUID(); err != nil {
		return false, err
	}
	made, err := b.skeleton(ctx)
	if err != nil {
		return false, err
	}
	changed = changed || made
	for _, to := range binds {
		mounted, err := b.mountAt(ctx, to.at)
		if err == nil {
			err = b.checkBind(ctx, to, b.out.DataUUID)
		}
		if err != nil {
			return false, err
		}
		changed = changed || mounted
	}
	return changed, nil
}

// mountAt mounts what fstab says, unless something is mounted there; whether it is the right thing is the caller's
// to look at.
func (b *bootstrap) mountAt(ctx context.Context, at string) (bool, error) {
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
	b.did("mount " + at)
	return true, nil
}

// skeleton makes the directories of the data disk. A home that is there is the user's and stays as it is.
func (b *bootstrap) skeleton(ctx context.Context) (bool, error) {
	changed := false
	for _, d := range []stateDir{
		{path: protocol.DataDir + "/home", mode: 0o755},
		{path: executorDir, mode: 0o700},
		{path: secretsDir, mode: 0o700},
		{path: protocol.DataDir + "/cache", mode: 0o755, uid: agentID},
	} {
		made, err := b.makeDir(d)
		if err != nil {
			return false, err
		}
		changed = changed || made
	}
	if _, err := os.Lstat(b.Path(agentHome)); err == nil {
		return changed, b.workspace()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	// Made beside, synced and renamed: a home is there whole or not at all.
	beside := b.Path(agentHome + ".new")
	if err := b.removeTree(beside); err != nil {
		return false, err
	}
	if err := b.makeHome(beside); err != nil {
		return false, err
	}
	if err := b.Machine.Sync(ctx); err != nil {
		return false, err
	}
	if err := b.rename(beside, b.Path(agentHome)); err != nil {
		return false, err
	}
	return true, b.workspace()
}

// makeHome fills a new home from /etc/skel.
func (b *bootstrap) makeHome(home string) error {
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
		return b.Machine.Chown(path, agentID, agentID)
	})
}

// workspace makes the directory that /workspace shows; a restored home may lack it.
func (b *bootstrap) workspace() error {
	_, err := b.makeDir(stateDir{path: agentHome + "/workspace", mode: 0o755, uid: agentID})
	return err
}
